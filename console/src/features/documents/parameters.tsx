import { useId } from "react";
import { visible } from "../../shared/code/ansi";
import { Fault } from "../../shared/editing/field-errors";

interface Schema {
  properties?: Record<string, { type?: string; default?: unknown; enum?: unknown[]; description?: string }>;
}

interface Props {
  schema: unknown;
  values: Record<string, string>;
  error: string | undefined;
  onChange: (values: Record<string, string>) => void;
}

/** A form of what the document declares; an empty field is its default. */
export function Parameters({ schema, values, error, onChange }: Props) {
  const id = useId();
  const properties = Object.entries((schema as Schema | undefined)?.properties ?? {});
  if (properties.length === 0) return null;
  return (
    <fieldset className="panel tight" aria-describedby={error === undefined ? undefined : id}>
      <legend>Parameters</legend>
      {properties.map(([name, property]) => (
        <label key={name} className="bar" title={property.description}>
          <span style={{ minWidth: 140 }}>
            {visible(name)} <span className="muted">{property.type}</span>
          </span>
          {property.enum === undefined ? (
            <input className="plain-input mono" placeholder={property.default === undefined ? "" : String(property.default)} value={values[name] ?? ""} onChange={(event) => onChange({ ...values, [name]: event.currentTarget.value })} />
          ) : (
            <select className="plain-input" value={values[name] ?? ""} onChange={(event) => onChange({ ...values, [name]: event.currentTarget.value })}>
              <option value="">default</option>
              {property.enum.map((each) => (
                <option key={String(each)}>{String(each)}</option>
              ))}
            </select>
          )}
        </label>
      ))}
      <Fault id={id} text={error} />
    </fieldset>
  );
}
