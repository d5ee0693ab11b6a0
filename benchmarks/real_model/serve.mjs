// An OpenAI-compatible server for one GGUF model of the Qwen2.5 family, by node-llama-cpp (prebuilt, CPU only).
//
//     node serve.mjs MODEL.gguf PORT NAME RECORD.jsonl
//
// Every answer is kept in RECORD with the milliseconds that it took: an equal prompt with equal sampling is answered
// from there, so that prompts are compared without running the model again. One request at a time.
import {createHash} from "node:crypto";
import {appendFileSync, existsSync, readFileSync} from "node:fs";
import http from "node:http";
import {createRequire} from "node:module";
import {pathToFileURL} from "node:url";

const [, , file, port, name, record] = process.argv;
const {getLlama, LlamaGrammarEvaluationState} = await import(
  pathToFileURL(createRequire(`${process.cwd()}/`).resolve("node-llama-cpp")).href
);
const DEFAULT_SYSTEM = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.";
const MAX_TOKENS = 800;
const THREADS = Number(process.env.THREADS ?? 1);

const llama = await getLlama({gpu: false, build: "never", logLevel: "error", maxThreads: THREADS});
const model = await llama.loadModel({modelPath: file});
const context = await model.createContext({contextSize: 8192, threads: THREADS});
const sequence = context.getSequence();
const recorded = new Map();
if (existsSync(record))
  for (const line of readFileSync(record, "utf8").split("\n").filter(Boolean)) {
    const {key, ...answer} = JSON.parse(line);
    recorded.set(key, answer);
  }
let running = Promise.resolve();
let spent = 0; // milliseconds of all answers, recorded ones too

const textOf = (content) => (typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join(""));
const turn = (role, text) => `<|im_start|>${role}\n${text}<|im_end|>\n`;
const callText = (call) =>
  `<tool_call>\n{"name": "${call.function.name}", "arguments": ${call.function.arguments}}\n</tool_call>`;

/** The family's own chat template (ChatML, tools in the system message). */
function promptOf({messages, tools}) {
  const system = messages[0]?.role === "system" ? textOf(messages[0].content) : DEFAULT_SYSTEM;
  const listed = (tools ?? []).map((tool) => JSON.stringify(tool)).join("\n");
  const offered = listed
    ? "\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\nYou are provided with " +
      `function signatures within <tools></tools> XML tags:\n<tools>\n${listed}\n</tools>\n\nFor each function call, ` +
      "return a json object with function name and arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n" +
      '{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>'
    : "";
  let text = turn("system", system + offered);
  for (const message of messages.slice(messages[0]?.role === "system" ? 1 : 0)) {
    const said = textOf(message.content);
    if (message.role === "tool") text += turn("user", `<tool_response>\n${said}\n</tool_response>`);
    else if (message.role === "assistant")
      text += turn("assistant", [said, ...(message.tool_calls ?? []).map(callText)].filter(Boolean).join("\n"));
    else text += turn(message.role, said);
  }
  return `${text}<|im_start|>assistant\n`;
}

/** The answer of the model, or the recorded one. */
async function complete(body, aborted) {
  const prompt = promptOf(body);
  const limit = Math.min(body.max_tokens ?? body.max_completion_tokens ?? MAX_TOKENS, MAX_TOKENS);
  const sampling = {temperature: body.temperature ?? 0, ...(body.temperature ? {seed: body.seed ?? 0} : {})};
  const schema = body.response_format?.type === "json_schema" ? body.response_format.json_schema.schema : null;
  const key = createHash("sha256").update(JSON.stringify([name, prompt, limit, sampling, schema])).digest("hex");
  if (recorded.has(key)) return {...recorded.get(key), replayed: true};
  const began = Date.now();
  let grammar;
  if (schema !== null)
    grammar = new LlamaGrammarEvaluationState({model, grammar: await llama.createGrammarForJsonSchema(schema)});
  const tokens = model.tokenize(prompt, true);
  await sequence.adaptStateToTokens(tokens.slice(0, -1), false);
  const written = [];
  const options = {...sampling, ...(grammar ? {grammarEvaluationState: grammar} : {})};
  for await (const token of sequence.evaluate(tokens.slice(sequence.nextTokenIndex), options)) {
    written.push(token);
    if (written.length >= limit || aborted()) break;
  }
  const finish = written.length >= limit ? "length" : "stop"; // the end of an answer is not among its tokens
  const answer = {text: model.detokenize(written), finish, input: tokens.length, output: written.length, ms: Date.now() - began};
  if (!aborted()) {
    recorded.set(key, answer);
    appendFileSync(record, `${JSON.stringify({key, ...answer, prompt})}\n`);
  }
  return answer;
}

/** The tool calls in an answer, and its other text. */
function split(text, offered) {
  const calls = [];
  const rest = text.replace(/<tool_call>\s*([\s\S]*?)\s*(<\/tool_call>|$)/g, (whole, inner) => {
    try {
      const call = JSON.parse(inner);
      if (typeof call.name !== "string") return whole;
      calls.push({
        index: calls.length,
        id: `call_${calls.length + 1}_${Math.random().toString(36).slice(2, 8)}`,
        type: "function",
        function: {name: call.name, arguments: JSON.stringify(call.arguments ?? {})},
      });
      return "";
    } catch {
      return whole;
    }
  });
  return offered ? {calls, rest: rest.trim()} : {calls: [], rest: text};
}

function send(response, body, answer) {
  const {calls, rest} = split(answer.text, (body.tools ?? []).length > 0);
  const finish = calls.length ? "tool_calls" : answer.finish;
  const usage = {prompt_tokens: answer.input, completion_tokens: answer.output, total_tokens: answer.input + answer.output};
  const common = {id: "chat-1", created: 1, model: name};
  if (!body.stream) {
    const message = {role: "assistant", content: rest, ...(calls.length ? {tool_calls: calls} : {})};
    response.setHeader("content-type", "application/json");
    response.end(
      JSON.stringify({...common, object: "chat.completion", choices: [{index: 0, message, finish_reason: finish}], usage, ms: answer.ms}),
    );
    return;
  }
  response.writeHead(200, {"content-type": "text/event-stream"});
  const chunk = (choices, more) =>
    response.write(`data: ${JSON.stringify({...common, object: "chat.completion.chunk", choices, ...more})}\n\n`);
  chunk([{index: 0, delta: {role: "assistant", content: rest, ...(calls.length ? {tool_calls: calls} : {})}, finish_reason: null}]);
  chunk([{index: 0, delta: {}, finish_reason: finish}]);
  chunk([], {usage});
  response.end("data: [DONE]\n\n");
}

async function handle(request, response) {
  let data = "";
  for await (const part of request) data += part;
  const body = JSON.parse(data);
  let gone = false;
  response.on("close", () => (gone = true));
  running = running.then(async () => {
    try {
      const answer = await complete(body, () => gone);
      spent += answer.ms;
      console.log(JSON.stringify({ms: answer.ms, input: answer.input, output: answer.output, replayed: !!answer.replayed}));
      send(response, body, answer);
    } catch (error) {
      console.error(String(error));
      response.writeHead(400, {"content-type": "application/json"});
      response.end(JSON.stringify({error: {message: String(error).slice(0, 300)}}));
    }
  });
}

http
  .createServer((request, response) => {
    if (request.method === "POST") return void handle(request, response);
    response.setHeader("content-type", "application/json");
    if (request.url === "/spent") return void response.end(JSON.stringify({ms: spent}));
    response.end(JSON.stringify({object: "list", data: [{id: name, object: "model", meta: {n_ctx: 8192}}]}));
  })
  .listen(Number(port), "127.0.0.1", () => console.log("ready"));
