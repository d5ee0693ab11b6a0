import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { blobOf } from "../../api/client";
import { download } from "./download";
import { Loaded } from "../page/loading-states";

/** A picture that a job made, from a blob: nothing in it runs. */
export function Picture({ fileId, alt }: { fileId: string; alt: string }) {
  const query = useQuery({ queryKey: ["blob", fileId], queryFn: () => blobOf(fileId), staleTime: Infinity });
  return <Loaded query={query}>{(blob) => <BlobImage blob={blob} alt={alt} />}</Loaded>;
}

function BlobImage({ blob, alt }: { blob: Blob; alt: string }) {
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    const made = URL.createObjectURL(blob);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  return url === null ? null : <img src={url} alt={alt} className="picture" />;
}

export function DownloadFile({ fileId, name, says = name }: { fileId: string; name: string; says?: string }) {
  return (
    <Button variant="default" onClick={() => void blobOf(fileId).then((blob) => download(blob, name))}>
      {says}
    </Button>
  );
}
