import { Fragment } from "react";
import { visible } from "../../shared/code/ansi";
import { Code } from "../../shared/code/code";
import { askedOf } from "./input-parts";

/** The request, to be read: texts as text, code with its lines, the rest next to its name. */
export function AskedView({ input }: { input: unknown }) {
  const parts = askedOf(input);
  const facts = parts.filter((part) => part.as === "fact");
  return (
    <section className="stack" aria-label="Request">
      {parts
        .filter((part) => part.as !== "fact")
        .map(({ name, text, as }) => (
          <div key={name} className="tight">
            <h3>{visible(name.replaceAll("_", " "))}</h3>
            {as === "code" ? <Code text={text} /> : <p className="wrapped">{visible(text)}</p>}
          </div>
        ))}
      {facts.length === 0 ? null : (
        <dl className="facts">
          {facts.map(({ name, text }) => (
            <Fragment key={name}>
              <dt>{visible(name.replaceAll("_", " "))}</dt>
              <dd className="wrapped">{visible(text)}</dd>
            </Fragment>
          ))}
        </dl>
      )}
    </section>
  );
}
