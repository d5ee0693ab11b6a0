import { Button, PasswordInput } from "@mantine/core";
import { useEffect, useState } from "react";
import { post, Problem, send } from "../api/client";
import { belongTo, forgetKey, keepKey } from "../api/session";
import type { NewSession } from "../api/types";
import mark from "./mark.svg";
import { Checkbox } from "../shared/editing/checkbox";

export default function SignIn({ title, code, onDone }: { title: string; code: string | null; onDone: () => void }) {
  const [key, setKey] = useState("");
  const [stay, setStay] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(code !== null);
  // What is not an answer of the server is shown as well: an alert without words helps no one.
  const refuse = (error: unknown): void => {
    setProblem(error instanceof Problem ? error : new Problem(0, "", "Sign-in failed", String(error), null));
    setBusy(false);
  };
  useEffect(() => {
    document.title = "Sign in · Assay";
    if (code === null) return;
    // A code works once: what is on its way must not be sent again when this is drawn twice.
    redeem(code).then(onDone, refuse);
  }, [code, onDone]);
  const submit = async (): Promise<void> => {
    setBusy(true);
    try {
      const headers = { Authorization: `Bearer ${asHeader(key)}` };
      const answer = await send("POST", "/v1/sessions", { headers });
      const session = (await answer.json()) as NewSession;
      keepKey(session.key, stay);
      // The page behind the form belongs to another tenant.
      if (belongTo(session.tenant)) location.assign("/");
      else onDone();
    } catch (error) {
      refuse(error);
    }
  };
  return (
    <main className="signin">
      <div className="middle">
        <div className="stack">
          <img src={mark} width={36} height={36} alt="" />
          <div className="tight">
            <h1>{title}</h1>
            <p className="muted">LLM jobs whose answers are executed and checked before you get them.</p>
          </div>
        </div>
        <form
          className="panel stack"
          onSubmit={(event) => {
            event.preventDefault();
            void submit();
          }}
        >
          <PasswordInput
            label="API key"
            placeholder="ask_…"
            autoComplete="off"
            size="sm"
            value={key}
            error={problem === null ? undefined : <span role="alert">{wordsOf(problem)}</span>}
            description={problem === null ? "Starts with ask_. We exchange it for a session that lasts 12 hours." : undefined}
            inputWrapperOrder={["label", "input", "description", "error"]}
            onChange={(event) => setKey(event.currentTarget.value)}
          />
          <Checkbox label="Stay signed in on this device" checked={stay} onChange={(e) => setStay(e.currentTarget.checked)} />
          <Button type="submit" fullWidth loading={busy} disabled={key.trim() === ""}>
            Sign in
          </Button>
        </form>
        <details open={problem !== null}>
          <summary>No key yet?</summary>
          <div className="tight">
            <p>On the server, run this and open the link it prints:</p>
            <pre className="code wrap">assay login</pre>
            <p>Or get a key from an admin of your tenant.</p>
          </div>
        </details>
      </div>
      <footer>
        <a href="/docs">API documentation</a>
        <a href="/docs/errors">Error codes</a>
      </footer>
    </main>
  );
}

/** A refusal in words for the sign-in form. */
function wordsOf(problem: Problem): string {
  if (problem.code === "not_authenticated") return "This API key isn’t valid. It may be revoked or belong to another server.";
  return problem.detail === "" ? problem.title : problem.detail;
}

/** Browsers refuse, each in its own words, to send what a header cannot carry. Raises: Problem. */
function asHeader(key: string): string {
  const text = key.trim();
  if (/^[\x21-\x7e]+$/.test(text)) return text;
  throw new Problem(0, "", "Invalid API key", "This API key isn’t valid. Keys start with ask_ and have letters and digits only.", null);
}

const redeeming = new Map<string, Promise<void>>();

function redeem(code: string): Promise<void> {
  const running =
    redeeming.get(code) ??
    post<NewSession>("/v1/sessions", { code }).then((session) => {
      forgetKey();
      keepKey(session.key, false);
      belongTo(session.tenant);
    });
  redeeming.set(code, running);
  return running;
}
