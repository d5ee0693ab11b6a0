import { Button } from "@mantine/core";

interface Props {
  query: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown };
}

/** Shows the next page of a list below it, as long as there is one. */
export function LoadMore({ query }: Props) {
  if (!query.hasNextPage) return null;
  return (
    <span>
      <Button variant="default" loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
        Load more
      </Button>
    </span>
  );
}
