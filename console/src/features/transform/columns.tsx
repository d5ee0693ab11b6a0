import { useQuery } from "@tanstack/react-query";
import { get } from "../../api/client";
import type { ColumnProfile, FileProfile, FileRows } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { ReadingPart, type ReadingOptions } from "../../shared/files/reading";
import { cell, count } from "../../shared/values/numbers";
import { Failed, Loading } from "../../shared/page/loading-states";
import { scrollEnd } from "../../shared/tables/scroll-end";

interface Shown {
  names: readonly string[];
  rows: readonly (readonly string[])[];
  profiles?: ReadonlyMap<string, ColumnProfile>;
}

/** What the model will see of a data set; a click on a name hides its values. */
export function Columns({ label, shown, masked, toggle }: { label: string; shown: Shown; masked: readonly string[]; toggle: (column: string) => void }) {
  return (
    <div ref={scrollEnd} className="scroll" tabIndex={0} role="region" aria-label={label}>
      <table className="grid-table mono">
        <thead>
          <tr>
            {shown.names.map((column) => {
              const hidden = masked.includes(column);
              return (
                <th key={column} scope="col">
                  <button type="button" className="link" aria-pressed={hidden} title={hidden ? "Show its values to the model" : "Hide its values from the model"} onClick={() => toggle(column)}>
                    {visible(column)} {hidden ? "(masked)" : ""}
                  </button>
                  <Spread of={shown.profiles?.get(column)} />
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>
          {shown.rows.map((row, index) => (
            <tr key={index}>
              {row.map((value, place) => (
                <td key={place}>{masked.includes(shown.names[place]!) ? <span className="muted">••••</span> : visible(value)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface FileProps {
  fileId: string;
  label: string;
  rows: number;
  masked: readonly string[];
  toggle: (column: string) => void;
  reading: ReadingOptions;
  onReading: (options: ReadingOptions) => void;
}

/** The columns of a file as the job will read it: names and rows first, their description when it is there. */
export function FileColumns({ fileId, label, rows, masked, toggle, reading, onReading }: FileProps) {
  const query = { ...reading };
  const head = useQuery({ queryKey: ["file-rows", fileId, "head", reading], queryFn: () => get<FileRows>(`/v1/files/${fileId}/rows`, { ...query, limit: 20 }), staleTime: Infinity, retry: false });
  const profile = useQuery({ queryKey: ["file-profile", fileId, reading], queryFn: () => get<FileProfile>(`/v1/files/${fileId}/profile`, query), staleTime: Infinity, retry: false, enabled: head.data !== undefined });
  if (head.error) {
    return (
      <div className="tight">
        <Failed error={head.error} />
        <ReadingPart found={null} notes={[]} options={reading} onChange={onReading} />
      </div>
    );
  }
  if (head.data === undefined) return <Loading rows={2} />;
  const shown = {
    names: head.data.columns.map((column) => column.name),
    rows: head.data.rows.slice(0, rows).map((row) => row.map((value) => cell(value).slice(0, 200))),
    profiles: new Map((profile.data?.columns ?? []).map((column) => [column.name, column])),
  };
  return (
    <div className="tight">
      <Columns label={label} shown={shown} masked={masked} toggle={toggle} />
      <span className="muted">
        {count(head.data.row_count)} rows{profile.isFetching ? "; Analyzing columns…" : ""}
      </span>
      <ReadingPart found={head.data.reading} notes={head.data.notes ?? []} options={reading} onChange={onReading} />
    </div>
  );
}

const [WIDTH, HEIGHT] = [72, 16];

/** Type, missing values and spread of a column, as a picture and as words. */
function Spread({ of }: { of: ColumnProfile | undefined }) {
  if (of === undefined) return null;
  const most = Math.max(...(of.histogram ?? [0]), 1);
  const range = of.lowest === null || of.lowest === undefined ? `${count(of.distinct)} distinct` : `${cell(of.lowest)} to ${cell(of.highest)}`;
  return (
    <span className="spread muted" title={(of.frequent ?? []).map((each) => `${cell(each.value)}: ${each.count}`).join("\n")}>
      {of.type}
      {of.nulls > 0 ? `, ${count(of.nulls)} null` : ""}
      <br />
      {of.histogram ? (
        <svg width={WIDTH} height={HEIGHT} aria-hidden="true">
          {of.histogram.map((number, index) => {
            const height = number === 0 ? 0 : Math.max(1, (HEIGHT * number) / most);
            return <rect key={index} x={(index * WIDTH) / of.histogram!.length} y={HEIGHT - height} width={WIDTH / of.histogram!.length - 0.6} height={height} fill="var(--accent)" />;
          })}
        </svg>
      ) : null}
      {of.histogram ? <br /> : null}
      {visible(range.slice(0, 60))}
    </span>
  );
}
