import { Alert, Button, Checkbox, PasswordInput } from "@mantine/core";
import { useEffect, useState, type ReactNode } from "react";
import { post, Problem, send } from "../api/client";
import { belongTo, currentKey, forgetKey, keepKey, onExpiry } from "../api/session";
import type { NewSession } from "../api/types";
import mark from "./mark.svg";

/** Shows the console to who is signed in. When the session ends, it asks again over the page, which stays as it is. */
export function SignInGate({ children }: { children: ReactNode }) {
  const [signedIn, setSignedIn] = useState(currentKey() !== null);
  const [expired, setExpired] = useState(false);
  const [code, setCode] = useState(takeCode);
  useEffect(() => onExpiry(() => setExpired(true)), []);
  const enter = (): void => {
    setSignedIn(true);
    setExpired(false);
    setCode(null);
  };
  if (signedIn && code === null) {
    return (
      <>
        {expired ? <SignIn title="Your session has ended" code={null} onDone={enter} /> : null}
        <div hidden={expired}>{children}</div>
      </>
    );
  }
  return <SignIn title="Sign in to Assay" code={code} onDone={enter} />;
}

/** The one-time code behind the # of the address; taken out of it, so that it is in no history. */
function takeCode(): string | null {
  const match = /^#code=([A-Za-z0-9]+)$/.exec(location.hash);
  if (match === null) return null;
  history.replaceState(null, "", location.pathname + location.search);
  return match[1]!;
}

function SignIn({ title, code, onDone }: { title: string; code: string | null; onDone: () => void }) {
  const [key, setKey] = useState("");
  const [stay, setStay] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(code !== null);
  // What is no answer of the server is told as well: an alert without words helps nobody.
  const refuse = (error: unknown): void => {
    setProblem(error instanceof Problem ? error : new Problem(0, "", "Signing in failed", String(error), null));
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
      // What stands behind the question is another tenant's.
      if (belongTo(session.tenant)) location.assign("/");
      else onDone();
    } catch (error) {
      refuse(error);
    }
  };
  return (
    <main className="signin stack">
      <div className="bar">
        <img src={mark} width={28} height={28} alt="" />
        <h1>{title}</h1>
      </div>
      {problem === null ? null : (
        <Alert color="red" title={problem.title} role="alert">
          {problem.detail}
        </Alert>
      )}
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <PasswordInput
          label="API key"
          description="It begins with ask_. This browser keeps a key of its own that is made with it, for 12 hours."
          autoComplete="off"
          size="sm"
          value={key}
          onChange={(event) => setKey(event.currentTarget.value)}
        />
        <Checkbox label="Stay signed in on this computer" checked={stay} onChange={(e) => setStay(e.currentTarget.checked)} />
        <Button type="submit" size="sm" loading={busy} disabled={key.trim() === ""}>
          Sign in
        </Button>
      </form>
      <p className="muted">
        On the server, <code>assay login</code> prints a link that signs in without a key.
      </p>
    </main>
  );
}

/** Browsers refuse, each in its own words, to send what a header cannot carry. Raises: Problem. */
function asHeader(key: string): string {
  const text = key.trim();
  if (/^[\x21-\x7e]+$/.test(text)) return text;
  throw new Problem(0, "", "This is no API key", "A key begins with ask_ and has letters and digits only. Copy it as it was shown when it was made.", null);
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
