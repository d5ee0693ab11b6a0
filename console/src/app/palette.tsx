import { Modal, TextInput, useMantineColorScheme } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useSession } from "../api/queries";
import { TIMES, useTimes } from "../shared/values/time";
import { actionsHere, matching, onceEach, type Action } from "./actions";
import { keysAreOn } from "./keys";
import { signOut } from "./sign-out";
import { placesFor, SCHEMES, TIME_NAMES, WORKBENCHES } from "./navigation";

const KEYS = [
  ["everywhere", "Ctrl K  ? this list  / filter"],
  ["in a list", "j k move  Enter open  x choose"],
  ["in a job", "j k next job  [ ] attempt  e next error  c copy id  r replay  . actions  Esc to the jobs"],
  ["in a flow", "n new node  l link  Tab arrows Delete"],
] as const;

/** What can be done here, places, jobs by id, what can be done everywhere, and the keys there are. */
export default function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const [here] = useState(actionsHere);
  const everywhere = useEverywhere();
  const navigate = useNavigate();
  const scopes = useSession()?.scopes ?? [];
  const to = (path: string) => () => void navigate({ to: path });
  const places = placesFor(scopes).map((place) => ({ name: place.name, hint: `g ${place.key}`, go: to(place.path) }));
  const id = text.trim();
  const all = onceEach([...here.map((action) => ({ hint: "here", ...action })), ...places, ...everywhere]);
  const job: Action[] = /^[0-9a-z-]{8,64}$/i.test(id) ? [{ name: `Job ${id}`, hint: "open", go: to(`/jobs/${encodeURIComponent(id)}`) }] : [];
  const choices = [...matching(all, text), ...job];
  const take = (choice: Action): void => {
    onClose();
    // Once the dialog has given back the focus: what it opens or writes to has it then.
    setTimeout(choice.go);
  };
  const press = (event: React.KeyboardEvent): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      setChosen((chosen + step + choices.length) % choices.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      const choice = choices[Math.min(chosen, choices.length - 1)];
      if (choice !== undefined) take(choice);
    }
  };
  return (
    <Modal opened onClose={onClose} title="Go to or do" size="md" centered={false} yOffset="10vh">
      <div className="stack">
        <TextInput
          aria-label="A place, an action, or the id of a job"
          placeholder="A place, an action, or the id of a job"
          data-autofocus
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value);
            setChosen(0);
          }}
          onKeyDown={press}
        />
        <div className="tight choices" role="listbox" aria-label="Places and actions">
          {choices.map((choice, index) => (
            <button
              key={choice.name}
              type="button"
              role="option"
              aria-selected={index === chosen}
              ref={index === chosen ? (shown) => shown?.scrollIntoView({ block: "nearest" }) : undefined}
              className={`bar palette ${index === chosen ? "chosen" : ""}`}
              onClick={() => take(choice)}
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

/** What needs no page: a new job of each kind with a workbench, the look, times, keys, the session. */
function useEverywhere(): Action[] {
  const { setColorScheme } = useMantineColorScheme();
  const [, setTimes] = useTimes();
  const navigate = useNavigate();
  return [
    ...Object.entries(WORKBENCHES).map(([kind, path]) => ({ name: `New job: ${kind}`, go: () => void navigate({ to: path, search: {} }) })),
    { name: "New job: flow", go: () => void navigate({ to: "/flows", search: {} }) },
    ...SCHEMES.map(({ scheme, name }) => ({ name: `Look: ${name}`, go: () => setColorScheme(scheme) })),
    ...TIMES.map((times) => ({ name: `Times: ${TIME_NAMES[times]}`, go: () => setTimes(times) })),
    { name: keysAreOn() ? "Switch the keys off" : "Switch the keys on", go: () => localStorage.setItem("assay.keys", keysAreOn() ? "off" : "on") },
    { name: "API documentation", go: () => location.assign("/docs") },
    { name: "Sign out", go: () => void signOut() },
  ];
}
