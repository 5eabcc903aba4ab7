use std::time::Duration;

/// How long to wait after a failure: longer with each that follows the one before.
#[derive(Debug)]
pub(super) struct Pause {
    next: Duration,
    warned: bool,
}

impl Default for Pause {
    fn default() -> Self {
        Self { next: SHORTEST, warned: false }
    }
}

impl Pause {
    pub(super) async fn wait(&mut self) {
        let now = self.next;
        self.next = (now * 2).min(LONGEST);
        tokio::time::sleep(now).await;
    }

    pub(super) const fn reset(&mut self) {
        self.next = SHORTEST;
    }

    pub(super) fn warn_once(&mut self, warn: impl FnOnce()) {
        if !self.warned {
            self.warned = true;
            warn();
        }
    }
}

const SHORTEST: Duration = Duration::from_secs(1);

const LONGEST: Duration = Duration::from_mins(5);
