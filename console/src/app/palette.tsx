import { Modal, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { keysAreOn } from "./keys";
import { PLACES } from "./places";

const KEYS = [
  ["everywhere", "Ctrl K  ? this list  / filter"],
  ["in a list", "j k move  Enter open  x choose"],
  ["in a job", "j k next job  [ ] attempt  e next error  c copy id  r replay  . actions  Esc to the jobs"],
  ["in a flow", "n new node  l link  Tab arrows Delete"],
] as const;

interface Choice {
  name: string;
  hint: string;
  go: () => void;
}

/** Places, jobs and flows by id, and the keys there are. */
export default function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const navigate = useNavigate();
  const to = (path: string) => () => {
    onClose();
    void navigate({ to: path });
  };
  const wanted = text.trim().toLowerCase();
  const choices: Choice[] = [
    ...PLACES.filter((place) => place.name.toLowerCase().includes(wanted)).map((place) => ({
      name: place.name,
      hint: `g ${place.key}`,
      go: to(place.path),
    })),
    ...(/^[0-9a-z-]{8,64}$/i.test(text.trim())
      ? [{ name: `Job ${text.trim()}`, hint: "open", go: to(`/jobs/${encodeURIComponent(text.trim())}`) }]
      : []),
    {
      name: keysAreOn() ? "Switch the keys off" : "Switch the keys on",
      hint: "",
      go: () => {
        localStorage.setItem("assay.keys", keysAreOn() ? "off" : "on");
        onClose();
      },
    },
  ];
  const press = (event: React.KeyboardEvent): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      setChosen((chosen + step + choices.length) % choices.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      choices[Math.min(chosen, choices.length - 1)]?.go();
    }
  };
  return (
    <Modal opened onClose={onClose} title="Go to" size="md" centered={false} yOffset="10vh">
      <div className="stack">
        <TextInput
          aria-label="A place, or the id of a job"
          placeholder="A place, or the id of a job"
          data-autofocus
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value);
            setChosen(0);
          }}
          onKeyDown={press}
        />
        <div className="tight" role="listbox" aria-label="Places">
          {choices.map((choice, index) => (
            <button
              key={choice.name}
              type="button"
              role="option"
              aria-selected={index === chosen}
              className={`bar palette ${index === chosen ? "chosen" : ""}`}
              onClick={choice.go}
            >
              {choice.name}
              <span className="spacer" />
              <span className="muted mono">{choice.hint}</span>
            </button>
          ))}
        </div>
        <dl className="facts">
          {KEYS.map(([place, keys]) => (
            <div key={place} style={{ display: "contents" }}>
              <dt>{place}</dt>
              <dd className="mono">{keys}</dd>
            </div>
          ))}
        </dl>
      </div>
    </Modal>
  );
}
