import { Button } from "@mantine/core";
import type { Ref, UIEvent } from "react";
import { Ansi } from "./ansi";
import { download } from "../files/download";
import { bytes } from "../values/numbers";

// A line of megabytes takes a browser many seconds to lay out.
const HALF = 100_000;

/** What a program printed: of very much its begin and its end, and the whole as a file. */
export function Printed({ text, name, box, onScroll }: { text: string; name: string; box?: Ref<HTMLPreElement>; onScroll?: (event: UIEvent<HTMLPreElement>) => void }) {
  const left = text.length - 2 * HALF;
  return (
    <>
      <pre ref={box} className="code wrap" tabIndex={0} onScroll={onScroll}>
        {left <= 0 ? <Ansi text={text} /> : <Parts text={text} left={left} />}
      </pre>
      {left <= 0 ? null : (
        <span>
          <Button variant="default" onClick={() => download(text, `${name}.txt`)}>
            Download all of it ({bytes(text.length)})
          </Button>
        </span>
      )}
    </>
  );
}

function Parts({ text, left }: { text: string; left: number }) {
  return (
    <>
      <Ansi text={text.slice(0, HALF)} />
      <div className="muted">… {bytes(left)} are left out here …</div>
      <Ansi text={text.slice(-HALF)} />
    </>
  );
}
