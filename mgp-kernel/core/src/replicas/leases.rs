//! The leases of servers on standard input and output: which of several kernels runs each, as this kernel knows it.

use std::collections::BTreeMap;

use tokio::sync::watch;
use tokio::time::Instant;

#[cfg(any(feature = "cluster", test))]
use {crate::lifecycle::or_never, mgp_store::StoreError, std::time::Duration, tokio::time::sleep_until};

/// A lease of a server, which this kernel or another one has.
#[derive(Debug, Clone)]
pub(crate) struct Lease {
    /// The address of the kernel that runs the server; `None` for this kernel.
    pub(crate) elsewhere: Option<String>,
    /// The number of the lease, which is larger for each owner.
    pub(crate) epoch: i64,
    /// The end of the lease for this kernel, by its own clock.
    ends: Instant,
}

impl Lease {
    fn holds(&self) -> bool {
        Instant::now() < self.ends
    }
}

/// The servers of which one kernel runs the program for all.
#[cfg(any(feature = "cluster", test))]
pub(crate) trait LeasedServers: Send + Sync {
    /// Returns their ids.
    #[cfg(feature = "cluster")]
    fn ids(&self) -> Vec<String>;

    /// Ends what runs of a server, and begins it where its lease is by then.
    fn follow_lease(&self, server: &str);
}

/// The leases by their servers, as this kernel knows them.
#[derive(Default)]
pub(crate) struct Leases(watch::Sender<BTreeMap<String, Lease>>);

impl Leases {
    /// Takes note of the leases that the database told some time after `asked`. They end here early enough for a server to end
    /// in time.
    ///
    /// # Errors
    /// Fails if they are not in the form of this version.
    #[cfg(any(feature = "cluster", test))]
    pub(super) fn note(&self, asked: Instant, leases: &str) -> Result<(), StoreError> {
        let leases: BTreeMap<String, (Option<String>, i64, u64)> = serde_json::from_str(leases)
            .map_err(|error| StoreError::Damaged(format!("the leases: {error}")))?;
        let lease = |(elsewhere, epoch, left)| {
            let ends = asked + Duration::from_millis(left).saturating_sub(TIME_TO_END);
            Lease { elsewhere, epoch, ends }
        };
        self.0.send_replace(leases.into_iter().map(|(server, row)| (server, lease(row))).collect());
        Ok(())
    }

    /// Waits until some kernel has the lease of `server`, and returns it.
    pub(crate) async fn of(&self, server: &str) -> Lease {
        let mut leases = self.0.subscribe();
        loop {
            let found = leases.borrow_and_update().get(server).filter(|lease| lease.holds()).cloned();
            if let Some(lease) = found {
                return lease;
            }
            // Waiting fails only if the sender is gone, and `self` holds it.
            let _ = leases.changed().await;
        }
    }

    /// Returns whether this kernel runs `server` by the lease with this number.
    pub(crate) fn has(&self, server: &str, epoch: i64) -> bool {
        let is_it = |lease: &Lease| lease.elsewhere.is_none() && lease.epoch == epoch && lease.holds();
        self.0.borrow().get(server).is_some_and(is_it)
    }

    /// Returns the number of servers that this kernel runs by a lease.
    pub(crate) fn own(&self) -> usize {
        self.0.borrow().values().filter(|lease| lease.elsewhere.is_none() && lease.holds()).count()
    }

    /// Returns whether another kernel runs `server`, as far as this one knows.
    pub(crate) fn is_elsewhere(&self, server: &str) -> bool {
        self.0.borrow().get(server).is_some_and(|lease| lease.elsewhere.is_some())
    }

    /// Has servers follow their leases when these end or move, for as long as it is polled.
    #[cfg(any(feature = "cluster", test))]
    pub(super) async fn keep_to(&self, servers: &dyn LeasedServers) {
        let (mut changes, mut followed) = (self.0.subscribe(), BTreeMap::<String, Lease>::new());
        loop {
            let mut held = changes.borrow_and_update().clone();
            held.retain(|_, lease| lease.holds());
            // A server whose lease begins waits for it already.
            for (server, before) in std::mem::replace(&mut followed, held) {
                if followed.get(&server).is_none_or(|lease| lease.epoch != before.epoch) {
                    servers.follow_lease(&server);
                }
            }
            let first_end = followed.values().map(|lease| lease.ends).min();
            tokio::select! {
                _ = changes.changed() => {}
                () = or_never(first_end.map(sleep_until)) => {}
            }
        }
    }
}

/// The part of a lease that is left for the end of a server.
#[cfg(any(feature = "cluster", test))]
const TIME_TO_END: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;
    use tokio::time::advance;

    use super::*;

    #[derive(Default)]
    struct Followed(Mutex<Vec<String>>);

    impl LeasedServers for Followed {
        #[cfg(feature = "cluster")]
        fn ids(&self) -> Vec<String> {
            Vec::new()
        }

        fn follow_lease(&self, server: &str) {
            self.0.lock().push(server.to_owned());
        }
    }

    impl Leases {
        /// Takes note of leases that the database told now.
        pub(crate) fn tell(&self, told: &str) {
            self.note(Instant::now(), told).unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_ends_for_its_owner_before_it_does_for_others() {
        let leases = Leases::default();
        leases.tell(r#"{"files":[null,3,10000]}"#);
        assert!(leases.has("files", 3) && !leases.has("files", 2) && !leases.has("mail", 3));
        advance(Duration::from_secs(7)).await;
        assert!(leases.has("files", 3));
        advance(Duration::from_secs(1)).await;
        assert!(!leases.has("files", 3));
        leases.tell(r#"{"files":["10.0.0.6:7334",4,10000]}"#);
        assert!(!leases.has("files", 4), "another kernel has it");
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_waits_until_somebody_has_its_lease() {
        let leases = Arc::new(Leases::default());
        leases.tell(r#"{"files":[null,1,2000]}"#);
        let waiting = tokio::spawn({
            let leases = Arc::clone(&leases);
            async move { leases.of("files").await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished(), "what is about to end counts no more");
        leases.tell(r#"{"files":["10.0.0.6:7334",2,10000]}"#);
        assert_eq!(waiting.await.unwrap().epoch, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn servers_follow_leases_that_end_or_move_and_wait_for_those_that_begin() {
        let (leases, followed) = (Arc::new(Leases::default()), Arc::new(Followed::default()));
        let keeping = tokio::spawn({
            let (leases, followed) = (Arc::clone(&leases), Arc::clone(&followed));
            async move { leases.keep_to(&*followed).await }
        });
        let settled = async || {
            for _ in 0..8 {
                tokio::task::yield_now().await;
            }
            std::mem::take(&mut *followed.0.lock()).len()
        };
        assert_eq!(settled().await, 0);
        leases.tell(r#"{"files":[null,1,10000]}"#);
        assert_eq!(settled().await, 0);
        leases.tell(r#"{"files":[null,1,10000]}"#);
        assert_eq!(settled().await, 0, "it was renewed");
        leases.tell(r#"{"files":["10.0.0.6:7334",2,10000]}"#);
        assert_eq!(settled().await, 1);
        advance(Duration::from_secs(9)).await;
        assert_eq!(settled().await, 1, "it was not renewed");
        leases.tell("{}");
        assert_eq!(settled().await, 0);
        keeping.abort();
    }
}
