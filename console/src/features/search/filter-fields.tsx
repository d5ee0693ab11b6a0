import { useId } from "react";
import { visible } from "../../shared/code/ansi";
import { faultOf, HINTS, type FieldType, type FilterTexts } from "./filters";

interface Props {
  legend: string;
  /** What the labels of its fields end with, where there are several such lists. */
  of?: string;
  fields: Readonly<Record<string, FieldType>>;
  filters: FilterTexts;
  /** Whether all fields are shown, or those that filter and a choice of the others. */
  all: boolean;
  onChange: (filters: FilterTexts) => void;
}

/** Filters by field, each typed as its field is; an empty one does not filter. */
export function FilterFields({ legend, of = "", fields, filters, all, onChange }: Props) {
  const id = useId();
  const names = [...new Set([...(all ? Object.keys(fields) : []), ...Object.keys(filters)])];
  const others = Object.keys(fields).filter((name) => !names.includes(name));
  if (names.length + others.length === 0) return null;
  return (
    <div className="tight" role="group" aria-label={legend}>
      {names.map((name) => {
        const type = fields[name];
        const text = filters[name] ?? "";
        const fault = type === undefined ? "The table has no such field." : faultOf(text, type);
        return (
          <div key={name} className="bar">
            <span className="clip" style={{ width: 120 }}>
              {visible(name)} <span className="muted">{type}</span>
            </span>
            <input
              className="plain-input mono"
              style={{ flex: 1, minWidth: 150 }}
              aria-label={`Filter ${name}${of}`}
              aria-invalid={fault !== null}
              aria-describedby={fault === null ? undefined : `${id}-${name}`}
              placeholder={type === undefined ? "" : HINTS[type]}
              value={text}
              onChange={(event) => onChange({ ...filters, [name]: event.currentTarget.value })}
            />
            {all ? null : (
              <button type="button" className="link" aria-label={`Remove filter ${name}${of}`} onClick={() => onChange(Object.fromEntries(Object.entries(filters).filter(([each]) => each !== name)))}>
                Remove
              </button>
            )}
            {fault === null ? null : (
              <span id={`${id}-${name}`} className="bad">
                {fault}
              </span>
            )}
          </div>
        );
      })}
      {all || others.length === 0 ? null : (
        <select className="plain-input" aria-label={`Add a filter${of}`} value="" onChange={(event) => onChange({ ...filters, [event.currentTarget.value]: "" })}>
          <option value="">Add a filter…</option>
          {others.map((name) => (
            <option key={name} value={name}>
              {name} ({fields[name]})
            </option>
          ))}
        </select>
      )}
    </div>
  );
}
