import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { getUnlessSame, Problem } from "../../api/client";
import type { FlowView } from "../../api/types";
import { Loaded } from "../../shared/page/loading-states";
import { FlowEditor } from "./flow-editor";

export function Page() {
  const { id } = useParams({ strict: false }) as { id: string };
  const client = useQueryClient();
  const query = useQuery({
    queryKey: ["flow", id],
    queryFn: () => getUnlessSame<FlowView>(`/v1/flows/${id}`, client.getQueryData(["flow", id])),
    structuralSharing: false,
  });
  const gone = query.data !== undefined && query.error instanceof Problem && query.error.status === 404;
  return (
    <div className="flow-page">
      {gone ? (
        <p className="callout warn" role="alert">
          This flow was deleted. What is shown is how it was last; it cannot be changed or exported any more.
        </p>
      ) : null}
      <Loaded query={query}>{(flow) => <FlowEditor key={flow.id} flow={flow} />}</Loaded>
    </div>
  );
}
