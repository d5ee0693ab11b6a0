import { TextInput, type TextInputProps } from "@mantine/core";

interface Props extends Omit<TextInputProps, "value" | "onChange" | "type"> {
  value?: number | string;
  /** "" when the field is empty. */
  onChange?: (value: number | "") => void;
  suffix?: string;
}

/** A field of a number: the browser's own, which knows arrows, limits and the number pad of a phone. */
export function NumberInput({ value, onChange, suffix, ...props }: Props) {
  return (
    <TextInput
      type="number"
      value={value}
      onChange={(event) => onChange?.(event.currentTarget.value === "" ? "" : Number(event.currentTarget.value))}
      rightSection={suffix === undefined ? undefined : <span className="muted small">{suffix.trim()}</span>}
      rightSectionPointerEvents="none"
      {...props}
    />
  );
}
