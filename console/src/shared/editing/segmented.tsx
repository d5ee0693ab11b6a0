interface Props<T extends string> {
  label: string;
  value: T;
  choices: readonly { value: string; label: string }[];
  onChange: (value: T) => void;
}

/** A few choices of which one is on. */
export function Segmented<T extends string>({ label, value, choices, onChange }: Props<T>) {
  return (
    <div className="segmented" role="group" aria-label={label}>
      {choices.map((choice) => (
        <button key={choice.value} type="button" aria-pressed={choice.value === value} onClick={() => onChange(choice.value as T)}>
          {choice.label}
        </button>
      ))}
    </div>
  );
}
