//! The risk of calling a tool (§4.4).

use super::words::levels;

levels! {
    /// The risk of calling a tool (§4.4), in the order of the danger.
    ///
    /// ```
    /// use mgp_types::mgp::RiskLevel;
    ///
    /// assert_eq!(RiskLevel::Safe.max(RiskLevel::read("unheard of")), RiskLevel::Dangerous);
    /// ```
    #[derive(Default)]
    RiskLevel else Dangerous {
        /// The tool only reads: no confirmation.
        Safe = "safe",
        /// The tool writes data, within limits: confirmation is optional.
        Moderate = "moderate",
        /// The tool changes the system or cannot be undone: explicit confirmation or permission. A guess must not lower
        /// the risk, so an unknown word means this, too.
        #[default]
        Dangerous = "dangerous",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // covers: MGP-4.3-01
    #[test]
    fn the_three_levels_are_read_as_they_are_written_and_others_are_dangerous() {
        for (level, json) in [
            (RiskLevel::Safe, r#""safe""#),
            (RiskLevel::Moderate, r#""moderate""#),
            (RiskLevel::Dangerous, r#""dangerous""#),
        ] {
            assert_eq!(serde_json::to_string(&level).unwrap(), json);
            assert_eq!(serde_json::from_str::<RiskLevel>(json).unwrap(), level);
        }
        assert_eq!(serde_json::from_str::<RiskLevel>(r#""SAFE""#).unwrap(), RiskLevel::Dangerous);
    }
}
