import { Button } from "@mantine/core";
import { Link, useRouterState } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { visible } from "../shared/code/ansi";
import { Empty } from "../shared/page/loading-states";
import { useTitle } from "../shared/page/title";

export function NotFoundPage() {
  useTitle("Page not found");
  const path = useRouterState({ select: (state) => state.location.pathname });
  return (
    <>
      <div className="head">
        <h1>Page not found</h1>
      </div>
      <Empty
        icon={Search}
        title={`Nothing is at ${visible(path.slice(0, 200))}`}
        actions={
          <>
            <Button component={Link} to="/jobs">
              Back to jobs
            </Button>
            <Button component={Link} to="/" variant="default">
              Overview
            </Button>
          </>
        }
      >
        The link may be mistyped, or the page may have moved. Press <kbd>Ctrl K</kbd> to search pages, actions or a job ID.
      </Empty>
    </>
  );
}
