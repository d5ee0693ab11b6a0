import { lazy, Suspense, useEffect, useState, type ComponentProps, type ReactNode } from "react";
import { currentKey, onExpiry } from "../api/session";

// Who is signed in does not load it.
const SignIn = lazy(() => import("./sign-in"));

/** Shows the console to who is signed in. When the session ends, the sign-in form covers the page, which stays as it is. */
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
        {expired ? <Asked title="Your session has ended" code={null} onDone={enter} /> : null}
        <div hidden={expired}>{children}</div>
      </>
    );
  }
  return <Asked title="Sign in to Assay" code={code} onDone={enter} />;
}

/** The one-time code behind the # of the address; taken out of it, so that it is in no history. */
function takeCode(): string | null {
  const match = /^#code=([A-Za-z0-9]+)$/.exec(location.hash);
  if (match === null) return null;
  history.replaceState(null, "", location.pathname + location.search);
  return match[1]!;
}

function Asked(props: ComponentProps<typeof SignIn>) {
  return (
    <Suspense>
      <SignIn {...props} />
    </Suspense>
  );
}
