export interface Point {
  value: number;
  /** How much of the value is bad. */
  bad?: number;
  /** The point in words, for who points at it. */
  told: string;
}

const STEP = 3;
const BASE = 2;
const HEIGHT = 20;

/** Numbers over time as small bars, the newest last, with the bad part of each below; `label` says what they come to. */
export function Sparkline({ points, most, step = STEP, label }: { points: readonly Point[]; most?: number; step?: number; label: string }) {
  const top = Math.max(1, most ?? 0, ...points.map((point) => point.value));
  const high = (value: number): number => (value === 0 ? 0 : Math.max(2, (HEIGHT * value) / top));
  return (
    <svg className="hours" width={points.length * step} height={HEIGHT} role="img" aria-label={label}>
      {points.map((point, place) => (
        <g key={place}>
          <title>{point.told}</title>
          <rect x={place * step} y={0} width={step} height={HEIGHT} fill="transparent" />
          <rect className="p50" x={place * step} y={HEIGHT - high(point.value)} width={step - 1} height={high(point.value)} />
          {point.value === 0 ? <rect className="base" x={place * step} y={HEIGHT - BASE} width={step - 1} height={BASE} /> : null}
          <rect className="bad" x={place * step} y={HEIGHT - high(point.bad ?? 0)} width={step - 1} height={high(point.bad ?? 0)} />
        </g>
      ))}
    </svg>
  );
}
