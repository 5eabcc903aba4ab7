//! A figure of a gateway, its target, and whether it is reached.

use crate::bench::gates::{NOISE, number};

/// One measure of ours, and of the peers as far as they were measured.
#[derive(Clone, Debug)]
pub(super) struct Figure {
    pub(super) name: String,
    floor: Option<f64>,
    proxy: Option<f64>,
    ours: f64,
    limit: Limit,
}

/// How large or small ours may be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Limit {
    None,
    AtMost(f64),
    AtLeast(f64),
    OfFloor(f64),
    OfProxy(f64),
    /// At least so many times what the proxy reaches.
    TimesProxy(f64),
}

impl Figure {
    pub(super) fn ours(name: &str, ours: f64, limit: Limit) -> Self {
        Self { name: name.to_owned(), floor: None, proxy: None, ours, limit }
    }

    pub(super) fn beside_floor(self, floor: f64) -> Self {
        Self { floor: Some(floor), ..self }
    }

    pub(super) fn beside_proxy(self, proxy: Option<f64>) -> Self {
        Self { proxy, ..self }
    }

    /// A figure whose peer was not measured is not missed.
    pub(super) fn missed(&self) -> bool {
        self.reached() == Some(false)
    }

    fn reached(&self) -> Option<bool> {
        match self.limit {
            Limit::None => None,
            Limit::AtMost(limit) => Some(self.ours <= limit + NOISE),
            Limit::AtLeast(limit) => Some(self.ours >= limit),
            Limit::OfFloor(ratio) => Some(self.ours <= self.floor? * ratio),
            Limit::OfProxy(ratio) => Some(self.ours <= self.proxy? * ratio),
            Limit::TimesProxy(ratio) => Some(self.ours >= self.proxy? * ratio),
        }
    }

    pub(super) fn cells(&self) -> [String; 6] {
        let peer = |value: Option<f64>| value.map_or_else(String::new, number);
        let target = match self.limit {
            Limit::None => String::new(),
            Limit::AtMost(limit) => format!("≤ {}", number(limit)),
            Limit::AtLeast(limit) => format!("≥ {}", number(limit)),
            Limit::OfFloor(ratio) => format!("≤ {ratio:.2} × floor"),
            Limit::OfProxy(ratio) => format!("≤ {ratio:.2} × mcp-proxy"),
            Limit::TimesProxy(ratio) => format!("≥ {ratio:.2} × mcp-proxy"),
        };
        let verdict = match (self.limit, self.reached()) {
            (Limit::None, _) => "",
            (_, Some(true)) => "ok",
            (_, Some(false)) => "MISSED",
            (_, None) => "not measured",
        };
        [self.name.clone(), peer(self.floor), peer(self.proxy), number(self.ours), target, verdict.to_owned()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_compare_with_the_peer_that_they_name() {
        let figure = |limit| Figure::ours("x", 12.0, limit).beside_floor(10.0).beside_proxy(Some(40.0));
        assert!(!figure(Limit::OfFloor(1.2)).missed());
        assert!(figure(Limit::OfFloor(1.1)).missed());
        assert!(!figure(Limit::OfProxy(0.3)).missed());
        assert!(figure(Limit::OfProxy(0.2)).missed());
        assert!(figure(Limit::TimesProxy(2.0)).missed());
        assert!(figure(Limit::AtMost(11.0)).missed());
        assert!(figure(Limit::AtLeast(13.0)).missed() && !figure(Limit::AtLeast(11.0)).missed());
    }

    #[test]
    fn without_its_peer_a_figure_is_neither_reached_nor_missed() {
        let figure = Figure::ours("x", 12.0, Limit::OfProxy(0.5));
        assert!(!figure.missed());
        assert_eq!(figure.cells()[5], "not measured");
    }
}
