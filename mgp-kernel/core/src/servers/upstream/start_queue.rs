//! The queue in which the programs of servers wait for their start. Many that start at once on a busy machine would all miss
//! their timeout.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::available_parallelism;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The queue of the programs that start. Clones share it.
#[derive(Clone)]
pub(crate) struct StartQueue {
    free: Arc<Semaphore>,
    places: usize,
}

/// The place of a program that starts; the next one in the queue takes it once it is dropped.
pub(super) type StartPlace = OwnedSemaphorePermit;

impl StartQueue {
    /// Returns a queue in which as many programs start at the same time as this machine has cores, and two more.
    pub(crate) fn of_machine() -> Self {
        let places = available_parallelism().map_or(1, NonZeroUsize::get) + BEYOND_CORES;
        Self { free: Arc::new(Semaphore::new(places)), places }
    }

    /// Returns the number of programs that start at the same time.
    pub(super) const fn places(&self) -> usize {
        self.places
    }

    /// Waits for a place, in the order of the callers.
    pub(super) async fn place(&self) -> Option<StartPlace> {
        // The semaphore is never closed.
        Arc::clone(&self.free).acquire_owned().await.ok()
    }
}

/// The number of programs that may start beyond one for each core: a start often waits for a disk or the network.
const BEYOND_CORES: usize = 2;
