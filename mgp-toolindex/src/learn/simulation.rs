//! Simulations of users whose words differ from those of a tool, and of one who wants a tool to be found by all.

use mgp_types::RawJson;

use super::*;

const TOOLS: usize = 200;
const DIMENSION: usize = 32;

/// Pseudo-random numbers, about normally distributed, the same in each run.
struct Lot(u64);

impl Lot {
    fn number(&mut self) -> f32 {
        let mut sum = 0.0;
        for _ in 0..6 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            sum += f32::from(u16::try_from(self.0 >> 48).unwrap()) / 65536.0 - 0.5;
        }
        sum
    }

    /// Returns a direction that is near to another one, less near with more noise.
    fn near(&mut self, to: &[f32], noise: f32) -> Vec<f32> {
        let length = f32::from(u8::try_from(DIMENSION).unwrap()).sqrt();
        let vector: Vec<f32> = to.iter().map(|number| number + noise * self.number() / length).collect();
        uses::unit(&vector).unwrap()
    }
}

struct SimulatedWorld {
    lot: Lot,
    tools: Vec<Vec<f32>>,
    /// The meanings that users of a tool have in mind.
    intents: Vec<Vec<f32>>,
    learned: LearnedUses,
}

impl SimulatedWorld {
    fn new() -> Self {
        let mut lot = Lot(7);
        let tools: Vec<_> = (0..TOOLS).map(|_| lot.near(&[0.0; DIMENSION], 1.0)).collect();
        let intents = tools.iter().map(|tool| lot.near(tool, 3.0)).collect();
        Self { lot, tools, intents, learned: LearnedUses::new(LearnSettings::default(), "e") }
    }

    fn query(&mut self, tool: usize) -> Vec<f32> {
        self.lot.near(&self.intents[tool], 1.0)
    }

    fn own_score(&self, tool: usize, query: &[f32]) -> f32 {
        self.tools[tool].iter().zip(query).map(|(a, b)| a * b).sum()
    }

    /// Returns the five tools that a tenant finds.
    fn found(&self, tenant: &str, query: &[f32]) -> Vec<usize> {
        let mut scores: Vec<_> = (0..TOOLS).map(|tool| (self.own_score(tool, query), tool)).collect();
        if let Some(shift) = self.learned.shift(tenant) {
            for shift in shift.shifts(query) {
                let score = &mut scores[shift.tool.as_str().parse::<usize>().unwrap()].0;
                *score = shift.score(*score);
            }
        }
        scores.sort_by(|a, b| b.0.total_cmp(&a.0));
        scores.into_iter().map(|(_, tool)| tool).take(5).collect()
    }

    fn confirm(&self, tenant: &str, session: usize, tool: usize, query: &[f32]) -> bool {
        let (server, name) = ("s".into(), tool.to_string().as_str().into());
        let (session, score) = (session.to_string(), self.own_score(tool, query));
        self.learned.confirm(&ConfirmedCall {
            tenant,
            session: &session,
            server: &server,
            tool: &name,
            definition: DefinitionDigest::of(&RawJson::null()),
            query,
            score,
        })
    }

    /// Returns how many of `queries` queries for each tool find it, for this tenant.
    fn recalled(&mut self, tenant: &str, queries: usize) -> usize {
        let wanted: Vec<_> = (0..queries * TOOLS).map(|number| number % TOOLS).collect();
        wanted
            .into_iter()
            .filter(|tool| {
                let query = self.query(*tool);
                self.found(tenant, &query).contains(tool)
            })
            .count()
    }
}

#[test]
fn use_makes_tools_easier_to_find() {
    let mut world = SimulatedWorld::new();
    let before = world.recalled("t", 2);
    for session in 0..3 {
        for tool in 0..TOOLS {
            let query = world.query(tool);
            world.confirm("t", session * TOOLS + tool, tool, &query);
        }
    }
    let after = world.recalled("t", 2);
    assert!(after > before + TOOLS / 2, "{before} before, {after} after, of {}", 2 * TOOLS);
}

#[test]
fn a_tool_that_is_pushed_rises_for_few_queries_and_for_its_pusher_only() {
    let mut world = SimulatedWorld::new();
    let queries: Vec<_> = (0..2 * TOOLS).map(|number| world.query(number % TOOLS)).collect();
    let finds = |world: &SimulatedWorld, tenant: &str| {
        queries.iter().filter(|query| world.found(tenant, query).contains(&0)).count()
    };
    let before = finds(&world, "pusher");
    for (session, query) in queries.iter().enumerate() {
        // The tool is confirmed for queries of all kinds.
        world.confirm("pusher", session, 0, query);
    }
    let after = finds(&world, "pusher");
    assert!(after < before + queries.len() / 20, "{before} before, {after} after, of {}", queries.len());
    assert_eq!(finds(&world, "neighbour"), before);
}

#[test]
fn a_tool_that_is_pushed_does_not_oust_the_one_that_is_wanted() {
    let mut world = SimulatedWorld::new();
    let wanted = (1..TOOLS).find(|tool| world.own_score(0, &world.intents[*tool]) > 0.2).unwrap();
    let queries: Vec<_> = (0..60).map(|_| world.query(wanted)).collect();
    let finds = |world: &SimulatedWorld| {
        queries.iter().filter(|query| world.found("t", query).contains(&wanted)).count()
    };
    let before = finds(&world);
    let counted = (0..60).filter(|session| world.confirm("t", *session, 0, &queries[*session])).count();
    assert!(counted > 16, "{counted}");
    assert!(finds(&world) + 6 >= before, "{before} before, {} after, of 60", finds(&world));
}
