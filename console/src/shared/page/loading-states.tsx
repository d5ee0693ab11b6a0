import { Button, Skeleton } from "@mantine/core";
import { Component, useEffect, useState, type ReactNode } from "react";
import { Problem } from "../../api/problem";
import { visible } from "../code/ansi";
import { faultsOf, type Faults } from "../editing/field-errors";

/** The layout to come, after a moment: what is there at once never flickers. */
export function Loading({ rows = 6 }: { rows?: number }) {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), 150);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className="tight" aria-busy="true" aria-label="Loading">
      {shown ? Array.from({ length: rows }, (_, index) => <Skeleton key={index} height={20} width={`${90 - (index % 3) * 14}%`} />) : null}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="panel stack">
      <b>{title}</b>
      {children}
    </div>
  );
}

/** What went wrong, its code in the catalogue, the request to look for in the log, and another try. What a form says at its fields is not said again. */
export function Failed({ error, retry, faults }: { error: unknown; retry?: () => void; faults?: Faults }) {
  const problem = error instanceof Problem ? error : null;
  const { rest } = faults ?? faultsOf(error, []);
  const allSaid = problem !== null && problem.fields.length > 0 && rest.length === 0;
  return (
    <div className="callout bad tight" role="alert">
      <b>{problem?.title ?? "This part of the page failed"}</b>
      <span>{allSaid ? "What is wrong stands at its field." : visible(problem?.detail ?? (error instanceof Error ? error.message : String(error)))}</span>
      {rest.map((fault) => (
        <span key={fault} className="mono">
          {visible(fault)}
        </span>
      ))}
      <span className="bar">
        {problem === null || problem.code === "" ? null : (
          <a className="plain mono" href={`/docs/errors#${problem.code}`}>
            {problem.code}
          </a>
        )}
        {problem?.requestId ? <span className="mono">request {problem.requestId}</span> : null}
        {retry === undefined ? null : (
          <Button variant="default" onClick={retry}>
            Retry
          </Button>
        )}
      </span>
    </div>
  );
}

interface Query<T> {
  data: T | undefined;
  error: unknown;
  refetch: () => unknown;
}

/** One of loading, failed and there; an error beside older data does not hide the data. */
export function Loaded<T>({ query, rows, children }: { query: Query<T>; rows?: number; children: (data: T) => ReactNode }) {
  if (query.data !== undefined) return <>{children(query.data)}</>;
  if (query.error) return <Failed error={query.error} retry={() => void query.refetch()} />;
  return <Loading rows={rows} />;
}

/** One bad record never blanks the page. */
export class Boundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state: { error: unknown } = { error: null };

  static getDerivedStateFromError(error: unknown): { error: unknown } {
    return { error };
  }

  override render(): ReactNode {
    if (this.state.error === null) return this.props.children;
    return <Failed error={this.state.error} retry={() => this.setState({ error: null })} />;
  }
}
