import { Modal, TextInput, useMantineColorScheme } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { CornerDownLeft, Search, Zap, type LucideIcon } from "lucide-react";
import { useState } from "react";
import { jobsPage, useSession } from "../api/queries";
import { visible } from "../shared/code/ansi";
import { titleOf } from "../shared/page/title";
import { lastFilter } from "../shared/page/url";
import { Icon } from "../shared/values/icon";
import { StateShape } from "../shared/values/marks";
import { stateOf, type State } from "../shared/values/states";
import { TIMES, useTimes } from "../shared/values/time";
import { actionsHere, matching, onceEach, type Action } from "./actions";
import { keysAreOn } from "./keys";
import { signOut } from "./sign-out";
import { placesFor, SCHEMES, TIME_NAMES, WORKBENCHES } from "./navigation";

const KEYS = [
  ["Everywhere", "Ctrl K · ? this menu · / filter"],
  ["In a list", "j k move · Enter open · x select"],
  ["In a job", "j k next job · [ ] attempt · e next error · c copy ID · r retry with changes · . actions · Esc to jobs"],
  ["In a flow", "n new node · l link · Tab, arrows, Delete"],
] as const;

type Choice = Action & { group: "Jobs" | "Go to" | "Actions"; icon?: LucideIcon; state?: State };

const NAME = "Search pages, actions or a job ID";

/** Recent jobs, pages, what can be done here and everywhere, and the keys there are. */
export default function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const [here] = useState(actionsHere);
  const everywhere = useEverywhere();
  const navigate = useNavigate();
  const scopes = useSession()?.scopes ?? [];
  const words = text.trim();
  const jobs = useQuery({ queryKey: ["jobs", "palette", words], queryFn: () => jobsPage({ q: words || undefined, limit: 5 }), placeholderData: (before) => before });
  const to = (path: string) => () => void navigate({ to: path, search: lastFilter(path, location.pathname) as never });
  const places: Choice[] = placesFor(scopes).map((place) => ({ group: "Go to", name: place.name, hint: `g ${place.key}`, icon: place.icon, go: to(place.path) }));
  const actions = onceEach([...here.map((action) => ({ hint: "here", ...action })), ...everywhere]).map((action): Choice => ({ group: "Actions", icon: Zap, ...action }));
  const recent = (jobs.data?.items ?? []).map((job): Choice => ({ group: "Jobs", name: visible(titleOf(job)), hint: job.kind, state: stateOf(job), go: to(`/jobs/${job.id}`) }));
  const byId: Choice[] = /^[0-9a-z-]{8,64}$/i.test(words) && /\d/.test(words) ? [{ group: "Jobs", name: `Job ${words}`, hint: "open", icon: Search, go: to(`/jobs/${encodeURIComponent(words)}`) }] : [];
  // What was typed is mostly a page or an action; jobs come first only while nothing was.
  const found = matching([...places, ...actions], text);
  const choices = words === "" ? [...recent, ...places, ...actions] : [...found, ...byId, ...recent];
  const take = (choice: Choice): void => {
    onClose();
    // Once the dialog has given back the focus: what it opens or writes to has it then.
    setTimeout(choice.go);
  };
  const press = (event: React.KeyboardEvent): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      setAt((at + step + choices.length) % choices.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      const choice = choices[Math.min(words === "" && at === 0 ? 0 : at, choices.length - 1)];
      if (choice !== undefined) take(choice);
    }
  };
  return (
    <Modal opened onClose={onClose} title="Command menu" size={600} centered={false} yOffset="10vh">
      <div className="stack">
        <TextInput
          aria-label={NAME}
          placeholder={NAME}
          leftSection={<Icon of={Search} />}
          rightSection={<kbd>Esc</kbd>}
          rightSectionWidth={44}
          data-autofocus
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value);
            setAt(0);
          }}
          onKeyDown={press}
        />
        <div className="choices" role="listbox" aria-label="Pages, actions and jobs">
          {choices.map((choice, index) => (
            <button
              key={`${choice.group} ${choice.name} ${index}`}
              type="button"
              role="option"
              aria-selected={index === at}
              ref={index === at ? (shown) => shown?.scrollIntoView({ block: "nearest" }) : undefined}
              className={`palette ${index === at ? "chosen" : ""}`}
              data-group={choices[index - 1]?.group === choice.group ? undefined : choice.group}
              onClick={() => take(choice)}
            >
              {choice.state ? (
                <span className={`state ${choice.state.tone}`}>
                  <StateShape icon={choice.state.icon} />
                </span>
              ) : choice.icon ? (
                <Icon of={choice.icon} />
              ) : null}
              <span className="clip">
                <Marked text={choice.name} words={words} />
              </span>
              <span className="spacer" />
              {choice.hint === undefined ? null : choice.group === "Go to" ? <kbd>{choice.hint}</kbd> : <span className="muted small">{choice.hint}</span>}
              {index === at ? <Icon of={CornerDownLeft} size={14} /> : null}
            </button>
          ))}
        </div>
        <details>
          <summary>Keyboard shortcuts</summary>
          <dl className="facts">
            {KEYS.map(([place, keys]) => (
              <div key={place} style={{ display: "contents" }}>
                <dt>{place}</dt>
                <dd>{keys}</dd>
              </div>
            ))}
          </dl>
        </details>
      </div>
    </Modal>
  );
}

/** The name with what was typed marked in it. */
function Marked({ text, words }: { text: string; words: string }) {
  const place = words === "" ? -1 : text.toLowerCase().indexOf(words.toLowerCase());
  if (place < 0) return <>{text}</>;
  return (
    <>
      {text.slice(0, place)}
      <mark>{text.slice(place, place + words.length)}</mark>
      {text.slice(place + words.length)}
    </>
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
    ...SCHEMES.map(({ scheme, name }) => ({ name: `Theme: ${name}`, go: () => setColorScheme(scheme) })),
    ...TIMES.map((times) => ({ name: `Timestamps: ${TIME_NAMES[times]}`, go: () => setTimes(times) })),
    { name: keysAreOn() ? "Turn off keyboard shortcuts" : "Turn on keyboard shortcuts", go: () => localStorage.setItem("assay.keys", keysAreOn() ? "off" : "on") },
    { name: "API documentation", go: () => location.assign("/docs") },
    { name: "Sign out", go: () => void signOut() },
  ];
}
