//! The background task that makes vectors of slow embedders, and the queue of tools that wait for theirs.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use mgp_types::BoxFuture;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::{EmbedError, Embedder, Passage, PassageHash, VectorStore, checked, off_thread};
use crate::Tool;
use crate::slot::Slot;

/// The background work for one embedder, for as long as this value lives.
#[derive(Debug)]
pub(crate) struct BackgroundEmbedding {
    /// The tools whose vectors are made.
    pub(crate) queue: Arc<Queue>,
}

/// The embedder, the store and the receiver of the background work.
pub(crate) struct EmbeddingBackend {
    pub(crate) embedder: Arc<dyn Embedder>,
    pub(crate) store: Option<Arc<dyn VectorStore>>,
    /// The function that takes finished vectors; the work waits for its future.
    pub(crate) hand_over: Box<dyn Fn(Vec<MadeVector>) -> BoxFuture<'static, ()> + Send + Sync>,
}

/// The vector of a tool's passage.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MadeVector {
    pub(crate) slot: Slot,
    pub(crate) hash: PassageHash,
    /// The vector; `None` if the passage has no meaning, or none that the embedder could find.
    pub(crate) vector: Option<Vec<f32>>,
}

impl BackgroundEmbedding {
    /// Starts the work as a task of `runtime`, or else on a thread with a runtime of its own.
    pub(crate) fn start(lane: EmbeddingBackend, runtime: Option<&Handle>) -> Self {
        let queue = Arc::new(Queue::default());
        let worker = Worker { lane, queue: Arc::clone(&queue) };
        match runtime {
            Some(runtime) => drop(runtime.spawn(worker.run())),
            None => worker.run_on_thread(),
        }
        Self { queue }
    }
}

impl Drop for BackgroundEmbedding {
    fn drop(&mut self) {
        self.queue.closed.notify_one();
    }
}

mgp_types::partial_debug!(EmbeddingBackend, self => embedder: self.embedder, store: self.store);

struct Worker {
    lane: EmbeddingBackend,
    queue: Arc<Queue>,
}

/// The text of a tool without a stored vector, and the tool.
type UnembeddedTool = (Passage, MissingVector);

/// A text that every embedder accepts.
const PROBE: &str = "text";

/// The number of failures after which a tool that caused them is not tried again.
const MAX_FAILURES: u32 = 3;

/// The number of tools that are looked up at once.
const AT_ONCE: usize = 256;

impl Worker {
    fn run_on_thread(self) {
        let run = move || match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime.block_on(self.run()),
            Err(error) => tracing::error!(%error, "an embedder does not run: no vectors are made"),
        };
        if let Err(error) = std::thread::Builder::new().name("mgp-embed".into()).spawn(run) {
            tracing::error!(%error, "an embedder does not run: no vectors are made");
        }
    }

    async fn run(self) {
        // The work ends when its handle is dropped, even while it waits for an embedder that never answers.
        tokio::select! {
            () = self.queue.closed.notified() => {}
            () = self.work() => {}
        }
    }

    async fn work(&self) {
        let mut pause = RetryBackoff::default();
        loop {
            self.queue.filled().await;
            // Failed passages stay in the queue and have their turn again in the next round.
            let mut slot = None;
            loop {
                let some = self.queue.after(slot, AT_ONCE);
                let Some(last) = some.last() else { break };
                slot = Some(last.slot);
                for batch in batches(self.without_known(some).await) {
                    self.make(batch, &mut pause).await;
                }
            }
        }
    }

    /// Hands over the stored vectors, and returns the other tools.
    async fn without_known(&self, some: Vec<MissingVector>) -> Vec<UnembeddedTool> {
        let known = match &self.lane.store {
            Some(store) => {
                let (store, embedder) = (Arc::clone(store), Arc::clone(&self.lane.embedder));
                let hashes: Vec<_> = some.iter().map(|lacking| lacking.hash).collect();
                off_thread(move || store.get_many(embedder.id(), &hashes)).await.unwrap_or_default()
            }
            None => Vec::new(),
        };
        let mut known = known.into_iter();
        let (mut made, mut unknown) = (Vec::new(), Vec::new());
        for lacking in some {
            // The file of the store may hold anything: its vectors are checked as those of the embedder are.
            let vector = known.next().flatten().filter(|vector| {
                vector.len() == self.lane.embedder.dimension()
                    && vector.iter().all(|number| number.is_finite())
            });
            match vector {
                Some(_) => made.push(lacking.made(vector)),
                None => unknown.push((lacking.passage(), lacking)),
            }
        }
        self.hand_over(made).await;
        unknown
    }

    async fn make(&self, batch: Vec<UnembeddedTool>, pause: &mut RetryBackoff) {
        let mut texts = Vec::with_capacity(batch.len());
        let mut tools = Vec::with_capacity(batch.len());
        let mut ends = Vec::with_capacity(batch.len());
        for (passage, lacking) in batch {
            texts.extend(passage.texts().map(str::to_owned));
            ends.push(texts.len());
            tools.push(lacking);
        }
        match self.embed(texts).await {
            Ok(vectors) => {
                pause.failures = 0;
                let mut start = 0;
                let made = tools.iter().zip(ends).map(|(lacking, end)| {
                    lacking.made(Passage::vector(&vectors[std::mem::replace(&mut start, end)..end]))
                });
                let made = self.keep(made.collect()).await;
                self.hand_over(made).await;
            }
            Err(error) => self.put_off(&tools, error, pause).await,
        }
    }

    async fn put_off(&self, tools: &[MissingVector], error: EmbedError, pause: &mut RetryBackoff) {
        if !std::mem::replace(&mut pause.warned, true) {
            tracing::warn!(%error, embedder = self.lane.embedder.id(), "tools are not embedded yet");
        }
        let mut alone = false;
        if let [lacking @ MissingVector { tool, failures, .. }] = tools
            && self.embed(vec![PROBE.into()]).await.is_ok()
        {
            alone = true;
            pause.failures = 0;
            // One text that the embedder always fails on must not keep the others waiting for ever.
            if *failures >= MAX_FAILURES {
                tracing::warn!(server = %tool.server, tool = %tool.name, %error, "a tool gets no vector: its text fails again and again");
                self.hand_over(vec![lacking.made(None)]).await;
                return;
            }
        }
        for lacking in tools {
            self.queue.failed(lacking.slot, lacking.hash, alone);
        }
        pause.wait().await;
    }

    async fn embed(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError> {
        let (count, embedder) = (texts.len(), &self.lane.embedder);
        let vectors = embedder.embed(texts).await?;
        checked(vectors, count, embedder.dimension())
    }

    async fn keep(&self, made: Vec<MadeVector>) -> Vec<MadeVector> {
        let Some(store) = self.lane.store.clone() else { return made };
        let embedder = Arc::clone(&self.lane.embedder);
        let kept = made.clone();
        let keep = move || {
            let vectors: Vec<_> =
                kept.iter().filter_map(|made| Some((made.hash, made.vector.as_deref()?))).collect();
            store.put_many(embedder.id(), &vectors);
        };
        if off_thread(keep).await.is_none() {
            tracing::debug!("a store of vectors panicked");
        }
        made
    }

    async fn hand_over(&self, made: Vec<MadeVector>) {
        if made.is_empty() {
            return;
        }
        let done: Vec<_> = made.iter().map(|made| (made.slot, made.hash)).collect();
        (self.lane.hand_over)(made).await;
        for (slot, hash) in done {
            self.queue.done(slot, hash);
        }
    }
}

const MAX_BYTES: usize = 16 * 1024;

/// The number of tools that are embedded at once.
const MAX_TOOLS: usize = 16;

/// Returns batches of texts of about the same length, because the shorter ones of a batch cost as much as its longest;
/// texts that failed before are alone, so that they cannot take others with them.
fn batches(mut tools: Vec<UnembeddedTool>) -> Vec<Vec<UnembeddedTool>> {
    tools.sort_by_key(|(passage, lacking)| (lacking.failures > 0, passage.len()));
    let mut batches: Vec<Vec<UnembeddedTool>> = Vec::new();
    let (mut room, mut bytes_left) = (0, 0);
    for (passage, lacking) in tools {
        let (bytes, alone) = (passage.len(), lacking.failures > 0);
        if let Some(batch) = batches.last_mut()
            && !alone
            && room > 0
            && bytes <= bytes_left
        {
            room -= 1;
            bytes_left -= bytes;
            batch.push((passage, lacking));
        } else {
            (room, bytes_left) = (MAX_TOOLS - 1, MAX_BYTES.saturating_sub(bytes));
            batches.push(vec![(passage, lacking)]);
        }
    }
    batches
}

/// The time to wait after a failure: longer with each further failure in a row.
#[derive(Debug, Default)]
struct RetryBackoff {
    failures: u32,
    warned: bool,
}

const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_mins(5);

impl RetryBackoff {
    async fn wait(&mut self) {
        let time = SHORTEST.saturating_mul(2_u32.saturating_pow(self.failures)).min(LONGEST);
        self.failures += 1;
        tokio::time::sleep(time).await;
    }
}

/// A tool whose vector has to be made.
#[derive(Debug, Clone)]
pub(crate) struct MissingVector {
    pub(crate) slot: Slot,
    pub(crate) hash: PassageHash,
    pub(crate) tool: Arc<Tool>,
    /// The number of failures that the tool caused; of several suspects each counts once.
    pub(crate) failures: u32,
}

impl MissingVector {
    const fn made(&self, vector: Option<Vec<f32>>) -> MadeVector {
        MadeVector { slot: self.slot, hash: self.hash, vector }
    }

    pub(super) fn passage(&self) -> Passage {
        let Tool { server, name, .. } = &*self.tool;
        Passage::of(server.as_str(), name.as_str(), &self.tool.description())
    }
}

/// The tools whose vectors have to be made, each of them once, however often it changes meanwhile.
///
/// A tool stays in the queue until its vector was handed over, so that no tool is lost when an attempt is. The queue
/// needs no bound of its own, because it has no more entries than the index has tools.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: Mutex<BTreeMap<Slot, MissingVector>>,
    filled: Notify,
    /// Notified once the vectors are not needed any more.
    pub(super) closed: Notify,
}

impl Queue {
    /// Adds tools; an entry of the same slot is replaced.
    pub(crate) fn extend(&self, tools: impl IntoIterator<Item = MissingVector>) {
        self.waiting.lock().extend(tools.into_iter().map(|lacking| (lacking.slot, lacking)));
        self.filled.notify_one();
    }

    /// Removes the entry of a slot that is empty now.
    pub(crate) fn forget(&self, slot: Slot) {
        self.waiting.lock().remove(&slot);
    }

    /// Waits until the queue has an entry.
    pub(super) async fn filled(&self) {
        while self.waiting.lock().is_empty() {
            self.filled.notified().await;
        }
    }

    /// Returns the next `most` entries, in the order of their slots.
    pub(super) fn after(&self, slot: Option<Slot>, most: usize) -> Vec<MissingVector> {
        let start = slot.map_or(Bound::Unbounded, Bound::Excluded);
        let waiting = self.waiting.lock();
        waiting.range((start, Bound::Unbounded)).take(most).map(|(_, lacking)| lacking.clone()).collect()
    }

    /// Removes the entry of a passage whose vector was handed over.
    pub(super) fn done(&self, slot: Slot, hash: PassageHash) {
        let mut waiting = self.waiting.lock();
        if waiting.get(&slot).is_some_and(|lacking| lacking.hash == hash) {
            waiting.remove(&slot);
        }
    }

    /// Notes that an attempt to embed this passage failed. If it did not fail `alone`, another passage may be the cause, or
    /// the embedder.
    pub(super) fn failed(&self, slot: Slot, hash: PassageHash, alone: bool) {
        if let Some(lacking) = self.waiting.lock().get_mut(&slot).filter(|lacking| lacking.hash == hash) {
            lacking.failures = if alone { lacking.failures + 1 } else { lacking.failures.max(1) };
        }
    }
}

#[cfg(test)]
mod tests;
