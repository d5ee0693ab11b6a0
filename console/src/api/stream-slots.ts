// Over HTTP/1.1 a browser keeps six connections to a server, all tabs together: this many may be streams, the others are for requests.
const STREAMS = 4;

/** Does the work with one of the streams that the visible tabs of a browser share, or without one. */
export type Slots = <T>(work: (hasStream: boolean) => Promise<T>) => Promise<T>;

/** `hasStream` is false while other tabs have all streams, and where the browser cannot say: locks need HTTPS or this machine. */
export const withSlot: Slots = async (work) => {
  if (!("locks" in navigator)) return work(false);
  for (let slot = 1; slot <= STREAMS; slot += 1) {
    const done = await navigator.locks.request(`assay-stream-${slot}`, { ifAvailable: true }, async (lock) =>
      lock === null ? null : { result: await work(true) },
    );
    if (done !== null) return done.result;
  }
  return work(false);
};
