import type { Bar, Tone } from "./lanes";

const PATTERNS = 5;
const MODELS: readonly Tone[] = ["ok", "fault", "skipped"];

/** The outcome is the colour of a model's attempt, its provider the pattern: the first one is plain. */
export function fillOf(bar: Pick<Bar, "tone" | "provider">, providers: readonly string[]): { className?: string; fill?: string } {
  const place = bar.provider === null ? 0 : Math.max(0, providers.indexOf(bar.provider)) % PATTERNS;
  return place === 0 || bar.tone === "skipped" ? { className: `bar-${bar.tone}` } : { fill: `url(#provider-${place}-${bar.tone})` };
}

/** What `fillOf` refers to: stripes, dots, lines upright, lines across. */
export function Patterns() {
  return (
    <defs>
      {(["ok", "fault"] as const).flatMap((tone) =>
        SHAPES.map((shape, place) => (
          <pattern key={`${place} ${tone}`} id={`provider-${place + 1}-${tone}`} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform={place === 0 ? "rotate(45)" : undefined}>
            <rect width="6" height="6" className={`bar-${tone}`} />
            {shape}
          </pattern>
        )),
      )}
    </defs>
  );
}

const SHAPES = [
  <rect key="stripes" width="2.5" height="6" className="bar-gap" />,
  <circle key="dots" cx="3" cy="3" r="1.6" className="bar-gap" />,
  <rect key="upright" width="2" height="6" className="bar-gap" />,
  <rect key="across" width="6" height="2" className="bar-gap" />,
];

const WORDS: Readonly<Record<Tone, string>> = { queue: "Queued", prompt: "Preparing", ok: "answered", fault: "failed", skipped: "skipped", run: "Code ran", failed: "Code failed" };
const ORDER: readonly Tone[] = ["queue", "prompt", "ok", "fault", "skipped", "run", "failed"];

/** What the bars of this timeline mean, as far as there are such. */
export function Legend({ bars, providers }: { bars: readonly Bar[]; providers: readonly string[] }) {
  const kinds = new Map(bars.map((bar) => [`${bar.tone} ${bar.provider}`, bar]));
  const sorted = [...kinds.values()].sort((one, other) => ORDER.indexOf(one.tone) - ORDER.indexOf(other.tone));
  return (
    <figcaption className="legend">
      {sorted.map((bar) => (
        <span key={`${bar.tone} ${bar.provider}`}>
          <svg width="22" height="10" viewBox="0 0 22 10" aria-hidden="true">
            <rect x="0.5" y="0.5" width="21" height="9" rx="2" {...fillOf(bar, providers)} />
          </svg>
          {MODELS.includes(bar.tone) ? `${bar.provider} ${WORDS[bar.tone]}` : WORDS[bar.tone]}
        </span>
      ))}
    </figcaption>
  );
}

export function providersOf(bars: readonly Bar[]): string[] {
  return [...new Set(bars.flatMap((bar) => (bar.provider === null ? [] : [bar.provider])))];
}
