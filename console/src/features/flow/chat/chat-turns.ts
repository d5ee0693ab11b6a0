import type { FlowView } from "../../../api/types";
import { answerText } from "../../../results/answer-text";
import { said, type ToolCall } from "../editing/announcements";

export interface Message {
  role: string;
  content: string;
  tool_calls: ToolCall[];
  job_id: string | null;
}

/** A request and its outcome; the attempts in between are the job's. */
export interface Turn {
  job: string | null;
  asked: string;
  answered: string;
  attempts: number;
}

/** A conversation as the person knows it: one request each, whatever the model got between its attempts. */
export function chatTurns(flow: FlowView, messages: readonly Message[]): Turn[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    const last = turns.at(-1);
    const goesOn = last !== undefined && last.job !== null && last.job === message.job_id;
    if (message.role === "user") {
      if (!goesOn) turns.push({ job: message.job_id, asked: message.content, answered: "", attempts: 0 });
    } else if (last !== undefined) {
      last.attempts += 1;
      last.answered = answerText(message.content) || wanted(flow, message.tool_calls) || last.answered;
    }
  }
  return turns;
}

function wanted(flow: FlowView, calls: readonly ToolCall[]): string {
  return calls.length === 0 ? "" : said(flow, calls);
}
