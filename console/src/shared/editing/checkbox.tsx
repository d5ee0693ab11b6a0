import type { InputHTMLAttributes, ReactNode } from "react";

interface Props extends Omit<InputHTMLAttributes<HTMLInputElement>, "type"> {
  label: ReactNode;
  description?: ReactNode;
}

/** A checkbox with its words; the words are part of the target. */
export function Checkbox({ label, description, ...props }: Props) {
  return (
    <label className="option">
      <input type="checkbox" {...props} />
      <span>
        {label}
        {description === undefined ? null : <span className="hint">{description}</span>}
      </span>
    </label>
  );
}
