import { Button, Skeleton } from "@mantine/core";
import { Inbox, type LucideIcon } from "lucide-react";
import { Component, useEffect, useState, type ReactNode } from "react";
import { Problem } from "../../api/problem";
import { Icon } from "../values/icon";
import { Callout } from "./callout";
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
    <div className="stack" role="status" aria-busy="true" aria-label="Loading">
      {shown ? Array.from({ length: rows }, (_, index) => <Skeleton key={index} height={12} width={`${90 - (index % 3) * 14}%`} />) : null}
    </div>
  );
}

interface EmptyProps {
  /** What is not here. */
  title: string;
  icon?: LucideIcon;
  /** What will appear here. */
  children?: ReactNode;
  /** One primary button, and one more at most. */
  actions?: ReactNode;
}

/** Where nothing is yet: what will appear here, and the one button that makes it appear. */
export function Empty({ title, icon = Inbox, children, actions }: EmptyProps) {
  return (
    <div className="empty">
      <div className="words">
        <span className="sign">
          <Icon of={icon} size={20} />
        </span>
        <h2>{title}</h2>
        {children === undefined ? null : <div className="text">{children}</div>}
        {actions === undefined ? null : <div className="bar">{actions}</div>}
      </div>
      <div className="sketch" aria-hidden="true">
        {[92, 78, 84, 60, 88, 72].map((width, place) => (
          <i key={place} style={{ width: `${width}%` }} />
        ))}
      </div>
    </div>
  );
}

/** What went wrong, its code in the catalogue, the request to look for in the log, and another try. What a form says at its fields is not said again. */
export function Failed({ error, retry, faults }: { error: unknown; retry?: () => void; faults?: Faults }) {
  const problem = error instanceof Problem ? error : null;
  const { rest } = faults ?? faultsOf(error, []);
  const allSaid = problem !== null && problem.fields.length > 0 && rest.length === 0;
  return (
    <Callout tone="bad" role="alert" className="tight">
      <b>{problem?.title ?? "This part of the page failed"}</b>
      <span>{allSaid ? "Please fix the highlighted fields." : visible(problem?.detail ?? (error instanceof Error ? error.message : String(error)))}</span>
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
        {problem?.requestId ? <span className="mono small muted">Request {problem.requestId}</span> : null}
        {retry === undefined ? null : (
          <Button variant="default" onClick={retry}>
            Retry
          </Button>
        )}
      </span>
    </Callout>
  );
}

interface Query<T> {
  data: T | undefined;
  error: unknown;
  refetch: () => unknown;
}

/** One of loading, failed and there; an error next to older data does not hide the data. */
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
