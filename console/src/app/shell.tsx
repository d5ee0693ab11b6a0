import { ActionIcon, Menu, useMantineColorScheme } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useRouterState } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState } from "react";
import { get } from "../api/client";
import { useSession } from "../api/queries";
import type { Capabilities, Session } from "../api/types";
import { Announcer, useAnnounced } from "../shared/page/announce";
import { Boundary, Empty } from "../shared/page/loading-states";
import { TIMES, useTimes } from "../shared/values/time";
import { useTitle } from "../shared/page/title";
import { useKeys } from "./keys";
import { signOut } from "./sign-out";
import mark from "./mark.svg";
import { placesFor, SCHEMES, TIME_NAMES, type Place } from "./navigation";

export { useSession };

const Palette = lazy(() => import("./palette"));

export function Shell() {
  const [open, setOpen] = useState(false);
  const [palette, setPalette] = useState(false);
  const path = useRouterState({ select: (state) => state.location.pathname });
  // Of the page that is shown: while the next one is fetched, the address is that one's already.
  const shown = useRouterState({ select: (state) => state.matches.at(-1)?.pathname });
  useEffect(() => setOpen(false), [path]);
  const session = useSession();
  useKeys({ openPalette: () => setPalette(true) });
  return (
    <div className="shell">
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <header className="top">
        <ActionIcon className="only-narrow" variant="subtle" aria-label="Menu" aria-expanded={open} onClick={() => setOpen(!open)}>
          ☰
        </ActionIcon>
        <Link to="/" className="brand">
          <img src={mark} width={20} height={20} alt="" /> Assay
        </Link>
        <button type="button" className="link not-narrow" onClick={() => setPalette(true)}>
          Go to or do… <span className="tag mono">Ctrl K</span>
        </button>
        <span className="spacer" />
        <InstallationState />
        <Account session={session} />
      </header>
      <nav className="side" aria-label="Places" data-open={open}>
        {(["Work", "Tune", "Operate"] as const).map((group) => (
          <Group key={group} name={group} places={placesFor(session?.scopes ?? []).filter((place) => place.group === group)} />
        ))}
      </nav>
      <main id="main" className="page" tabIndex={-1}>
        <Boundary key={shown}>
          <Outlet />
        </Boundary>
      </main>
      <Announcer />
      {palette ? (
        <Suspense>
          <Palette onClose={() => setPalette(false)} />
        </Suspense>
      ) : null}
    </div>
  );
}

function Group({ name, places }: { name: string; places: readonly Place[] }) {
  return (
    <>
      <h2>{name}</h2>
      {places.map((place) => (
        <Link key={place.path} to={place.path as "/"} activeOptions={{ exact: place.path === "/", includeSearch: false }}>
          {place.name}
        </Link>
      ))}
    </>
  );
}

/** One word about the whole installation, with what is wrong in its title. */
function InstallationState() {
  const { data, error } = useQuery({
    queryKey: ["capabilities"],
    queryFn: () => get<Capabilities>("/v1/capabilities"),
    refetchInterval: 10_000,
  });
  useAnnounced(error !== null ? "The server does not answer" : "The server answers", "server");
  if (error !== null) return <span className="tag bad">server away</span>;
  if (data === undefined) return null;
  const troubled = Object.entries(data.kinds).filter(([, kind]) => kind.state !== "ready");
  const title = troubled.map(([kind, { reason }]) => `${kind}: ${reason ?? "not ready"}`).join("\n");
  return troubled.length === 0 ? (
    <span className="tag good not-narrow">all kinds ready</span>
  ) : (
    <span className="tag warn" title={title}>
      {troubled.length} of {Object.keys(data.kinds).length} kinds limited
    </span>
  );
}

function Account({ session }: { session: Session | undefined }) {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const [times, setTimes] = useTimes();
  return (
    <Menu position="bottom-end" transitionProps={{ duration: 0 }}>
      <Menu.Target>
        <button type="button" className="link">
          {session === undefined ? "Account" : session.tenant}
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {session?.name}: {session?.scopes.join(", ")}
        </Menu.Label>
        {SCHEMES.map(({ scheme, name }) => (
          <Menu.Item key={scheme} onClick={() => setColorScheme(scheme)}>
            {name}
            {colorScheme === scheme ? " ✓" : ""}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Label>Times</Menu.Label>
        {TIMES.map((each) => (
          <Menu.Item key={each} onClick={() => setTimes(each)}>
            {TIME_NAMES[each]}
            {times === each ? " ✓" : ""}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item component="a" href="/docs">
          API documentation
        </Menu.Item>
        <Menu.Item onClick={() => void signOut()}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

export function NotFoundPage() {
  useTitle("Not found");
  return (
    <Empty title="There is no such page">
      <Link to="/jobs" className="plain">
        To the jobs
      </Link>
    </Empty>
  );
}
