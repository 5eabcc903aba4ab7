//! The places of connections: their number in all and by peer, and the choice of the one that makes room for another.

use std::net::IpAddr;
use std::sync::{Arc, Weak};

use tokio::time::Instant;

use super::config::HttpConfig;
use super::watched_connection::WatchedConnection;

/// The connections of a server.
#[derive(Debug)]
pub(super) struct ConnectionSlots {
    max: usize,
    max_per_peer: usize,
    watched: Vec<Weak<WatchedConnection>>,
}

/// The place of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlotKind {
    Usual(IpAddr),
    /// A place for requests of the server's health.
    Reserved,
}

/// The number of connections that are let in beyond the bounds, for health alone.
const RESERVED: usize = 16;

impl ConnectionSlots {
    pub(super) fn new(config: &HttpConfig) -> Self {
        Self {
            max: config.max_connections.min(affordable()).max(1),
            max_per_peer: config.max_connections_per_peer.max(1),
            watched: Vec::new(),
        }
    }

    /// Lets a connection of `peer` in, if there is room or room can be made.
    pub(super) fn enter(&mut self, peer: IpAddr) -> Option<Arc<WatchedConnection>> {
        self.watched.retain(|watched| watched.strong_count() > 0);
        // IPv4 peers of a socket for both families are counted by their IPv4 address.
        let peer = peer.to_canonical();
        let place = self.usual(peer).or_else(|| self.reserved())?;
        let watched = Arc::new(WatchedConnection::new(place));
        self.watched.push(Arc::downgrade(&watched));
        Some(watched)
    }

    /// Ends the connections that have been idle for too long.
    pub(super) fn look(&mut self, config: &HttpConfig) {
        let now = Instant::now();
        for watched in self.alive() {
            let limit = if watched.is_silent() { config.header_timeout } else { config.idle_timeout };
            if watched.idle_since().is_some_and(|since| now.saturating_duration_since(since) >= limit) {
                watched.end();
            }
        }
        self.watched.retain(|watched| watched.strong_count() > 0);
    }

    /// Lets every connection end after its work.
    pub(super) fn finish(&self) {
        for watched in self.alive() {
            watched.finish();
        }
    }

    /// Ends the connections on which no request has come.
    pub(super) fn end_silent(&self) {
        for watched in self.alive().filter(|watched| watched.is_silent()) {
            watched.end();
        }
    }

    fn usual(&self, peer: IpAddr) -> Option<SlotKind> {
        let of_peer = |slot| slot == SlotKind::Usual(peer);
        let has_room = if self.among(of_peer).count() >= self.max_per_peer {
            self.end_idle(of_peer)
        } else {
            self.among(SlotKind::is_usual).count() < self.max || self.end_idle(SlotKind::is_usual)
        };
        has_room.then_some(SlotKind::Usual(peer))
    }

    fn reserved(&self) -> Option<SlotKind> {
        let is_reserved = |slot| slot == SlotKind::Reserved;
        let has_room = self.among(is_reserved).count() < RESERVED || self.end_idle(is_reserved);
        has_room.then_some(SlotKind::Reserved)
    }

    /// Ends the connection whose end costs least; returns whether there was one.
    pub(super) fn end_idle(&self, among: impl Fn(SlotKind) -> bool) -> bool {
        // Those who have shown least come first: no head, then no body, then a whole request.
        let shown = |watched: &WatchedConnection| (!watched.is_silent(), !watched.is_awaited());
        let idle =
            self.among(among).filter_map(|watched| Some((shown(&watched), watched.idle_since()?, watched)));
        let first = idle.min_by_key(|(shown, since, _)| (*shown, *since));
        let Some((.., watched)) = first else { return false };
        tracing::debug!("an idle connection ends to make room for another");
        watched.end();
        true
    }

    fn alive(&self) -> impl Iterator<Item = Arc<WatchedConnection>> {
        self.watched.iter().filter_map(Weak::upgrade)
    }

    /// Returns the connections whose places are those.
    fn among(&self, has: impl Fn(SlotKind) -> bool) -> impl Iterator<Item = Arc<WatchedConnection>> {
        self.alive().filter(move |watched| !watched.is_ended() && has(watched.place))
    }
}

impl SlotKind {
    pub(super) fn is_usual(self) -> bool {
        matches!(self, Self::Usual(_))
    }
}

/// Returns how many connections leave half of the files that the process may open to other uses.
fn affordable() -> usize {
    #[cfg(unix)]
    {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        limit.and_then(|files| usize::try_from(files / 2).ok()).unwrap_or(usize::MAX)
    }
    #[cfg(not(unix))]
    {
        usize::MAX
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use super::*;

    const ONE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    const TWO: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));

    fn places(max: usize, per_peer: usize) -> ConnectionSlots {
        ConnectionSlots::new(&HttpConfig::default().max_connections(max).max_connections_per_peer(per_peer))
    }

    async fn pass() {
        tokio::time::advance(Duration::from_millis(1)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn the_silent_make_room_before_those_who_spoke_and_the_oldest_first() {
        let mut places = places(3, 3);
        let spoke = places.enter(ONE).unwrap();
        drop(spoke.begin());
        pass().await;
        let older = places.enter(ONE).unwrap();
        pass().await;
        let newer = places.enter(ONE).unwrap();
        let next = places.enter(TWO).unwrap();
        assert!(older.is_ended() && !newer.is_ended() && !spoke.is_ended() && !next.is_reserved());
        let after = places.enter(TWO).unwrap();
        assert!(newer.is_ended() && !spoke.is_ended() && !after.is_reserved());
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_beyond_its_bound_takes_the_place_of_its_own() {
        let mut places = places(10, 2);
        let other = places.enter(TWO).unwrap();
        pass().await;
        let first = places.enter(ONE).unwrap();
        let second = places.enter(ONE).unwrap();
        let _third = places.enter(ONE).unwrap();
        assert!(!other.is_ended() && (first.is_ended() || second.is_ended()));
    }

    #[tokio::test(start_paused = true)]
    async fn where_all_are_at_work_only_health_is_let_in_and_that_is_bounded() {
        let mut places = places(2, 2);
        let busy = [places.enter(ONE).unwrap(), places.enter(ONE).unwrap()];
        let _work = [busy[0].begin(), busy[1].begin()];
        let reserved: Vec<_> = (0..RESERVED + 3).map(|_| places.enter(TWO).unwrap()).collect();
        assert!(reserved.iter().all(|watched| watched.is_reserved() || watched.is_ended()));
        assert_eq!(reserved.iter().filter(|watched| watched.is_ended()).count(), 3);
        assert!(busy.iter().all(|watched| !watched.is_ended()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_ended_leaves_its_place() {
        let mut places = places(1, 1);
        drop(places.enter(ONE).unwrap());
        let next = places.enter(ONE).unwrap();
        assert!(!next.is_reserved());
        assert_eq!(places.among(SlotKind::is_usual).count(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_connection_has_less_time_than_one_that_spoke() {
        let mut places = places(4, 4);
        let config = HttpConfig::default();
        let silent = places.enter(ONE).unwrap();
        let spoke = places.enter(ONE).unwrap();
        drop(spoke.begin());
        tokio::time::advance(config.header_timeout).await;
        places.look(&config);
        assert!(silent.is_ended() && !spoke.is_ended());
        tokio::time::advance(config.idle_timeout).await;
        places.look(&config);
        assert!(spoke.is_ended());
    }
}
