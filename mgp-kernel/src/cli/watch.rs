//! `mgp watch`: what waits, the servers and the end of the record on one screen, and answers with one key.

use std::pin::pin;
use std::time::Duration;

use crossterm::event::{Event, EventStream, KeyCode, KeyEventKind, KeyModifiers};
use futures_util::StreamExt as _;
use mgp_types::mgp::{Decision, RiskLevel};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Style, Stylize as _};
use ratatui::text::Line;
use ratatui::widgets::{Block, List, ListState, Paragraph, Wrap};
use ratatui::{DefaultTerminal, Frame};
use tokio::time::{Instant, sleep};

use super::input::is_person_there;
use super::link::KernelLink;
use super::proof::LOCKED;
use crate::admin::audit::QueryEvents;
use crate::admin::operation::ServersToBegin;
use crate::admin::operators::ReadProofStatus;
use crate::admin::questions::{
    ApproveQuestion, DenyQuestion, ListPending, OpenQuestion, ShowQuestion, WatchQuestions,
};
use crate::admin::servers::ListServers;
use crate::terminal::{Exit, Failure, TextWriter, printable};

/// The content of the screen.
#[derive(Default)]
struct Board {
    questions: Vec<OpenQuestion>,
    /// The id of the question that keys are about.
    chosen: Option<String>,
    /// The time until which no key answers that question, because it took the place of another one a moment ago.
    unread_until: Option<Instant>,
    /// The whole of that question, and the number of its lines that have scrolled away.
    question: String,
    scrolled: u16,
    servers: String,
    events: String,
    /// The outcome of the last answer.
    said: String,
}

/// A wish that a key stands for.
enum Wish {
    Answer(String, Decision),
    Leave,
}

pub(super) async fn run(link: &KernelLink) -> Result<Exit, Failure> {
    if !is_person_there() {
        return Err(Failure::usage("`mgp watch` needs a terminal")
            .hint("`mgp permissions pending` lists the questions, `mgp ui` opens a page"));
    }
    let mut board = Board::default();
    if link.ask(&ReadProofStatus {}).await?.locked {
        LOCKED.clone_into(&mut board.said);
    }
    loop {
        board.look(link).await?;
        // An approval may ask for the passphrase, on the terminal as it is without this screen.
        let terminal = ratatui::try_init().map_err(|error| Failure::usage(format!("no screen: {error}")))?;
        let wish = board.follow(terminal, link).await;
        ratatui::restore();
        match wish? {
            Wish::Leave => return Ok(Exit::Done),
            Wish::Answer(id, decision) => board.answer(link, id, decision).await,
        }
    }
}

impl Board {
    /// Brings up to date what is shown.
    async fn look(&mut self, link: &KernelLink) -> Result<(), Failure> {
        let pending = link.ask(&ListPending {}).await?;
        self.questions = pending.questions.into_iter().filter(|open| open.decision.is_none()).collect();
        if self.place().is_none() {
            self.choose(0);
            self.unread_until = Some(Instant::now() + READING_TAKES);
        }
        let servers = link.ask(&ListServers { begin: ServersToBegin::None }).await?;
        self.servers = TextWriter::text_of(&servers);
        let last = QueryEvents { limit: Some(EVENTS), ..QueryEvents::default() };
        self.events = TextWriter::text_of(&link.ask(&last).await?);
        self.question = match self.chosen.clone() {
            // The question may have been answered elsewhere a moment ago.
            Some(id) => match link.ask(&ShowQuestion { id }).await {
                Ok(shown) => TextWriter::text_of(&shown),
                Err(failure) => failure.message().to_owned(),
            },
            None => String::new(),
        };
        Ok(())
    }

    /// Returns the place of the question that keys are about.
    fn place(&self) -> Option<usize> {
        self.questions.iter().position(|open| Some(&open.id) == self.chosen.as_ref())
    }

    /// Has keys be about the question at a place; about the last one, if there are fewer.
    fn choose(&mut self, place: usize) {
        let place = place.min(self.questions.len().saturating_sub(1));
        self.chosen = self.questions.get(place).map(|open| open.id.clone());
        self.scrolled = 0;
    }

    /// Shows what happens until a key asks for something.
    async fn follow(&mut self, mut terminal: DefaultTerminal, link: &KernelLink) -> Result<Wish, Failure> {
        let mut keys = EventStream::new();
        loop {
            self.look(link).await?;
            let known = self.questions.iter().map(|question| question.id.clone()).collect();
            let seen = WatchQuestions { known };
            let mut new = pin!(link.ask(&seen));
            // While somebody waits for a new question, calls wait longer for their answers.
            loop {
                terminal.draw(|frame| self.draw(frame)).map_err(|error| Failure::usage(error.to_string()))?;
                tokio::select! {
                    new = &mut new => break drop(new?),
                    () = sleep(LOOK_EVERY) => self.look(link).await?,
                    key = keys.next() => match key {
                        Some(Ok(Event::Key(key))) if key.kind != KeyEventKind::Release => {
                            let is_end = key.code == KeyCode::Char('c') && key.modifiers == KeyModifiers::CONTROL;
                            if let Some(wish) = if is_end { Some(Wish::Leave) } else { self.pressed(key.code) } {
                                return Ok(wish);
                            }
                            self.look(link).await?;
                        }
                        Some(Ok(_)) => {}
                        _ => return Ok(Wish::Leave),
                    },
                }
            }
        }
    }

    fn pressed(&mut self, key: KeyCode) -> Option<Wish> {
        let place = self.place().unwrap_or_default();
        self.said.clear();
        match key {
            KeyCode::Char('q') | KeyCode::Esc => return Some(Wish::Leave),
            KeyCode::Char(letter @ ('y' | 'Y' | 'n')) => return self.answered(letter),
            KeyCode::Down | KeyCode::Char('j') => self.choose(place + 1),
            KeyCode::Up | KeyCode::Char('k') => self.choose(place.saturating_sub(1)),
            KeyCode::PageDown => self.scrolled = self.scrolled.saturating_add(SCROLLS),
            KeyCode::PageUp => self.scrolled = self.scrolled.saturating_sub(SCROLLS),
            _ => {}
        }
        None
    }

    /// Returns the answer that a letter gives to the chosen question, if it may be given.
    fn answered(&mut self, letter: char) -> Option<Wish> {
        let question = self.questions.get(self.place()?)?;
        let is_unread = self.unread_until.is_some_and(|end| Instant::now() < end);
        self.said = match letter {
            _ if is_unread => "this question has just come up: read it, then answer".to_owned(),
            'n' => return Some(Wish::Answer(question.id.clone(), Decision::Denied)),
            'y' if question.risk == RiskLevel::Dangerous => "it is dangerous: Y approves it".to_owned(),
            _ => return Some(Wish::Answer(question.id.clone(), Decision::Approved)),
        };
        None
    }

    async fn answer(&mut self, link: &KernelLink, id: String, decision: Decision) {
        let outcome = if decision == Decision::Approved {
            link.ask(&ApproveQuestion { id: id.clone(), ..ApproveQuestion::default() }).await
        } else {
            link.ask(&DenyQuestion { id: id.clone(), expires_at: None, reason: None }).await
        };
        self.said = match outcome {
            Ok(decided) => format!("{id} {}", decided.decision.as_str()),
            Err(failure) => printable(failure.message()),
        };
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let servers = u16::try_from(self.servers.lines().count()).unwrap_or(u16::MAX).clamp(1, 10) + 2;
        let rows =
            [Constraint::Fill(2), Constraint::Length(servers), Constraint::Fill(1), Constraint::Length(1)];
        let [asked, fleet, record, foot] = Layout::vertical(rows).areas(frame.area());
        let columns = [Constraint::Percentage(35), Constraint::Fill(1)];
        let [list, whole] = Layout::horizontal(columns).areas(asked);
        let lines = self.questions.iter().map(|open| {
            let about = open.tool_name.as_ref().map(|tool| format!(".{tool}")).unwrap_or_default();
            let line = printable(&format!("{}  {}{about}", open.id, open.server_id));
            if open.risk == RiskLevel::Dangerous { Line::from(line).red() } else { Line::from(line) }
        });
        let title = match self.questions.len() {
            0 => "Nothing waits for you".to_owned(),
            1 => "1 waits for you".to_owned(),
            number => format!("{number} wait for you"),
        };
        let list_widget = List::new(lines).block(Block::bordered().title(title));
        let list_widget = list_widget.highlight_style(Style::new().reversed());
        let mut state = ListState::default().with_selected(self.place());
        frame.render_stateful_widget(list_widget, list, &mut state);
        let text = |text: &str, title| Paragraph::new(text.to_owned()).block(Block::bordered().title(title));
        let question = text(&self.question, "Question").wrap(Wrap { trim: false });
        frame.render_widget(question.scroll((self.scrolled, 0)), whole);
        frame.render_widget(text(&self.servers, "Servers"), fleet);
        frame.render_widget(text(&self.events, "Record"), record);
        let help = "y approve  n deny  ↑↓ choose  PgUp PgDn scroll  q leave";
        let foot_text = if self.said.is_empty() { help } else { &self.said };
        frame.render_widget(Line::from(foot_text).reversed(), foot);
    }
}

/// The number of events that are shown.
const EVENTS: u32 = 20;
/// The number of lines by which a long question scrolls.
const SCROLLS: u16 = 10;
/// The time that nobody reads a question within.
const READING_TAKES: Duration = Duration::from_millis(500);
const LOOK_EVERY: Duration = Duration::from_secs(1);
