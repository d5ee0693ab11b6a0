import { ActionIcon, useMantineColorScheme, useComputedColorScheme } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useRouterState } from "@tanstack/react-router";
import { Menu as MenuIcon, Moon, Search, Sun } from "lucide-react";
import { lazy, Suspense, useEffect, useState } from "react";
import { get } from "../api/client";
import { useSession } from "../api/queries";
import type { Capabilities } from "../api/types";
import { Announcer, useAnnounced } from "../shared/page/announce";
import { Boundary } from "../shared/page/loading-states";
import { Icon } from "../shared/values/icon";
import { Account } from "./account";
import { installationHealth, useProviders, type InstallationHealth } from "./health";
import { keepFocus } from "./focus";
import { useKeys } from "./keys";
import mark from "./mark.svg";
import { keepFilter, lastFilter } from "../shared/page/url";
import { placesFor, type Place } from "./navigation";

export { useSession };

const Palette = lazy(() => import("./palette"));

export function Shell() {
  const [open, setOpen] = useState(false);
  const [palette, setPalette] = useState(false);
  const path = useRouterState({ select: (state) => state.location.pathname });
  // Of the page that is shown: while the next one is fetched, the address is that one's already.
  const shown = useRouterState({ select: (state) => state.matches.at(-1)?.pathname });
  const search = useRouterState({ select: (state) => state.location.search }) as Record<string, string>;
  useEffect(() => setOpen(false), [path]);
  useEffect(() => keepFilter(path, search), [path, search]);
  useEffect(keepFocus, []);
  const session = useSession();
  const health = useHealth();
  useKeys({ openPalette: () => setPalette(true) });
  const places = placesFor(session?.scopes ?? []);
  return (
    <div className="shell">
      <a className="skip" href="#main">
        Skip to content
      </a>
      <header className="phone-bar">
        <ActionIcon variant="subtle" size={44} aria-label="Menu" aria-expanded={open} onClick={() => setOpen(!open)}>
          <Icon of={MenuIcon} size={20} />
        </ActionIcon>
        <Brand />
        <span className="health">
          <span className={`dot ${health.tone}`} />
          <span className="grow">{health.tone === "good" ? <span className="unseen">{health.words}</span> : health.words}</span>
        </span>
        <span className="spacer" />
        <ActionIcon variant="subtle" size={44} aria-label="Search or jump to…" onClick={() => setPalette(true)}>
          <Icon of={Search} size={20} />
        </ActionIcon>
        <ThemeSwitch narrow />
      </header>
      <nav className="side" aria-label="Places" data-open={open}>
        <Brand />
        <button type="button" className="side-search" onClick={() => setPalette(true)}>
          <Icon of={Search} />
          <span>Search or jump to…</span>
          <kbd>Ctrl K</kbd>
        </button>
        {(["Work", "Tune", "Operate"] as const).map((group) => (
          <Group key={group} name={group} places={places.filter((place) => place.group === group)} path={path} />
        ))}
        <div className="side-foot">
          <Health of={health} />
          <Account session={session} />
          <ThemeSwitch />
        </div>
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

function Brand() {
  return (
    <Link to="/" className="brand" aria-label="Assay">
      <img src={mark} width={22} height={22} alt="" /> <span>Assay</span>
    </Link>
  );
}

function Group({ name, places, path }: { name: string; places: readonly Place[]; path: string }) {
  return (
    <div className="group">
      <h2>{name}</h2>
      {places.map((place) => (
        <Link key={place.path} className="place" to={place.path as "/"} search={lastFilter(place.path, path) as never} title={place.name} activeOptions={{ exact: place.path === "/", includeSearch: false }}>
          <Icon of={place.icon} />
          <span>{place.name}</span>
        </Link>
      ))}
    </div>
  );
}

/** One line about the whole installation: unreachable, degraded, or well. */
function useHealth(): InstallationHealth {
  const { data, error } = useQuery({ queryKey: ["capabilities"], queryFn: () => get<Capabilities>("/v1/capabilities"), refetchInterval: 10_000 });
  const providers = useProviders();
  useAnnounced(error !== null ? "Server unreachable" : "Server reachable", "server");
  if (error !== null) return { tone: "bad", words: "Server unreachable", faults: [] };
  if (data === undefined) return { tone: "neutral", words: "Checking…", faults: [] };
  return installationHealth(data, providers ?? []);
}

function Health({ of: { tone, words, faults } }: { of: InstallationHealth }) {
  return (
    <Link to={faults.length > 0 ? "/settings" : "/models"} title={faults.join("\n") || words} aria-label={`Health: ${words}`}>
      <span className={`dot ${tone}`} />
      <span className="grow">{words}</span>
    </Link>
  );
}

function ThemeSwitch({ narrow = false }: { narrow?: boolean }) {
  const { setColorScheme } = useMantineColorScheme();
  const dark = useComputedColorScheme("light") === "dark";
  const turn = (): void => setColorScheme(dark ? "light" : "dark");
  if (narrow) {
    return (
      <ActionIcon variant="subtle" size={44} aria-label="Switch theme" onClick={turn}>
        <Icon of={dark ? Sun : Moon} size={20} />
      </ActionIcon>
    );
  }
  return (
    <button type="button" aria-label="Switch theme" onClick={turn}>
      <Icon of={dark ? Sun : Moon} />
      <span className="grow">Switch theme</span>
    </button>
  );
}
