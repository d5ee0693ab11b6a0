import { Problem } from "../../api/problem";
import { visible } from "../code/ansi";

/** What is wrong with the fields of a form, and what else is. */
export interface Faults {
  /** By the path of the field in what was sent ("input.task"). */
  at: (field: string) => string | undefined;
  /** What no field of the form is about. */
  rest: readonly string[];
}

/** What a refusal says, parted by the fields that a form has: what is said of a part of a field is shown at the field. */
export function faultsOf(error: unknown, fields: readonly string[]): Faults {
  const said = new Map<string, string[]>();
  const rest: string[] = [];
  for (const { loc, msg } of error instanceof Problem ? error.fields : []) {
    const path = (loc[0] === "body" ? loc.slice(1) : loc).join(".");
    const field = fields.filter((each) => path === each || path.startsWith(`${each}.`)).sort((one, other) => other.length - one.length)[0];
    if (field === undefined) rest.push(path === "" ? msg : `${path}: ${msg}`);
    else said.set(field, [...(said.get(field) ?? []), path === field ? msg : `${path.slice(field.length + 1)}: ${msg}`]);
  }
  return { at: (field) => said.get(field)?.map(visible).join("; "), rest };
}

/** Below a control of our own: it names this by its id in aria-describedby. */
export function Fault({ id, text }: { id: string; text: string | undefined }) {
  return text === undefined ? null : (
    <p id={id} className="fault">
      {text}
    </p>
  );
}

/** What a control of our own says of itself when something is wrong with it. */
export function invalid(id: string, text: string | undefined): { "aria-invalid": "true"; "aria-describedby": string } | Record<never, string> {
  return text === undefined ? {} : { "aria-invalid": "true", "aria-describedby": id };
}
