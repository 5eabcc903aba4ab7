//! A figure, its target, and whether it is reached.

/// One measure of the floor, of rmcp and of ours; less is better.
#[derive(Clone, Debug)]
pub(super) struct Figure {
    pub(super) name: String,
    floor: f64,
    rmcp: f64,
    ours: f64,
    target: Target,
}

/// How large ours may be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    AtMost(f64),
    OfFloor(f64),
    OfRmcp(f64),
}

impl Figure {
    pub(super) fn new(name: &str, [floor, rmcp, ours]: [f64; 3], target: Target) -> Self {
        Self { name: name.to_owned(), floor, rmcp, ours, target }
    }

    /// To be raised to the worst of several legs.
    pub(super) fn none() -> Self {
        Self::new("", [0.0; 3], Target::AtMost(0.0))
    }

    pub(super) fn raise(&mut self, [floor, rmcp, ours]: [f64; 3]) {
        self.floor = self.floor.max(floor);
        self.rmcp = self.rmcp.max(rmcp);
        self.ours = self.ours.max(ours);
    }

    pub(super) fn named(self, name: &str, target: Target) -> Self {
        Self { name: name.to_owned(), target, ..self }
    }

    pub(super) fn reached(&self) -> bool {
        match self.target {
            Target::AtMost(limit) => self.ours <= limit + NOISE,
            Target::OfFloor(ratio) => self.ours <= self.floor * ratio,
            Target::OfRmcp(ratio) => self.ours <= self.rmcp * ratio,
        }
    }

    pub(super) fn cells(&self) -> [String; 8] {
        let target = match self.target {
            Target::AtMost(limit) => format!("≤ {}", number(limit)),
            Target::OfFloor(ratio) => format!("≤ {ratio:.2} × floor"),
            Target::OfRmcp(ratio) => format!("≤ {ratio:.2} × rmcp"),
        };
        let ratio = |of: f64| if of > 0.0 { format!("{:.2}", self.ours / of) } else { "–".to_owned() };
        [
            self.name.clone(),
            number(self.floor),
            number(self.rmcp),
            number(self.ours),
            ratio(self.floor),
            ratio(self.rmcp),
            target,
            if self.reached() { "ok" } else { "MISSED" }.to_owned(),
        ]
    }
}

/// Three digits where they tell something, and thousands apart.
pub(super) fn number(value: f64) -> String {
    if value < 100.0 {
        let digits = format!("{value:.2}");
        return digits.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    let digits = format!("{value:.0}");
    let mut spaced = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            spaced.push(',');
        }
        spaced.push(digit);
    }
    spaced
}

/// Counts a call are a difference divided by the number of calls: a stray one elsewhere in the run must not fail it.
pub(super) const NOISE: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_compare_with_what_they_name() {
        let figure = |target| Figure::new("x", [10.0, 40.0, 12.0], target).reached();
        assert!(figure(Target::AtMost(12.0)));
        assert!(!figure(Target::AtMost(11.0)));
        assert!(figure(Target::OfFloor(1.2)));
        assert!(!figure(Target::OfFloor(1.1)));
        assert!(figure(Target::OfRmcp(0.3)));
        assert!(!figure(Target::OfRmcp(0.29)));
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(number(0.0), "0");
        assert_eq!(number(7.9), "7.9");
        assert_eq!(number(131_869.4), "131,869");
    }

    #[test]
    fn the_worst_leg_counts() {
        let mut worst = Figure::none();
        worst.raise([1.0, 2.0, 0.0]);
        worst.raise([0.0, 4.0, 1.0]);
        assert!(!worst.clone().named("spawns", Target::AtMost(0.0)).reached());
        assert!(worst.named("spawns", Target::AtMost(1.0)).reached());
    }
}
