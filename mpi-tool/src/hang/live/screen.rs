//! A screen that is drawn anew each second.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph};
use ratatui::{DefaultTerminal, Frame};

use super::Eye;
use super::filter::Filter;
use super::job::Job;
use super::text::{HEAD, lines, sentences};
use super::window::Summary;
use crate::cli::{SortBy, Top};
use crate::report::symbols::Symbols;

/// How often it is looked whether a job has ended.
const OFTEN: Duration = Duration::from_millis(100);

const HELP: &str = " \
s  sort by what is worst, rank, MPI, work, calls
 /  show some ranks only: words that all must fit,
    Enter: show these, Esc: as before
      3 or 0-7,12         ranks
      in-mpi outside stopped finalized gone
      stands waits        what they do
      other words         function, place or host
      !WORD               those that do not fit it
 p  pause, and go on
 ↑ ↓ PgUp PgDn  scroll
 ?  this help";

/// By what a screen has ended.
pub(super) enum End {
    /// A key, or there is nothing more to see.
    Quit,
    /// The key that interrupts programs.
    Interrupt,
}

struct Screen<'a> {
    /// What has been started for this screen.
    job: Option<&'a Job<'a>>,
    sort: SortBy,
    filter: Filter,
    /// The filter's words.
    words: String,
    /// Those that are being typed, and what is wrong with them.
    typed: Option<(String, Option<String>)>,
    is_paused: bool,
    shows_help: bool,
    first_line: usize,
    /// Was there anything to see at the last look?
    sees: bool,
    summary: Summary,
    symbols: Symbols,
}

pub(super) fn run(eye: &mut Eye, options: &Top, job: Option<&Job<'_>>) -> Result<End> {
    let mut terminal = ratatui::try_init().context("the terminal cannot be drawn on")?;
    let result = Screen::new(eye, options, job).run(&mut terminal, eye, options.every);
    ratatui::restore();
    result
}

impl<'a> Screen<'a> {
    fn new(eye: &Eye, options: &Top, job: Option<&'a Job<'a>>) -> Self {
        Self {
            job,
            sort: options.sort,
            filter: options.filter.clone(),
            words: options.filter.to_string(),
            typed: None,
            is_paused: false,
            shows_help: false,
            first_line: 0,
            sees: true,
            summary: eye.summary(),
            symbols: Symbols::default(),
        }
    }

    fn run(
        mut self,
        terminal: &mut DefaultTerminal,
        eye: &mut Eye,
        every: Duration,
    ) -> Result<End> {
        let mut draw = Instant::now();
        loop {
            if self.job.is_some_and(|job| job.is_over.load(Relaxed)) || eye.is_asked.load(Relaxed) {
                return Ok(End::Quit);
            }
            // Ranks of a job that was started just now may come later.
            let looks = self.sees || self.job.is_some();
            if looks && eye.rest().is_zero() {
                self.sees = eye.look();
            }
            if Instant::now() >= draw {
                if !self.is_paused && self.sees {
                    self.summary = eye.summary();
                }
                terminal.draw(|frame| self.draw(frame))?;
                draw = Instant::now() + every;
            }
            let rest = draw.saturating_duration_since(Instant::now());
            let rest = if looks { rest.min(eye.rest()) } else { rest };
            let rest = if self.job.is_some() { rest.min(OFTEN) } else { rest };
            if event::poll(rest)? {
                match event::read()? {
                    Event::Key(key) if key.kind == KeyEventKind::Press => {
                        if key.code == KeyCode::Char('c')
                            && key.modifiers.contains(KeyModifiers::CONTROL)
                        {
                            return Ok(End::Interrupt);
                        }
                        if self.typed.is_some() {
                            self.type_in(key.code);
                        } else if !self.press(key.code) {
                            return Ok(End::Quit);
                        }
                    }
                    _ => {}
                }
                draw = Instant::now();
            }
        }
    }

    /// Does what a key says; `false` if that is to end.
    fn press(&mut self, key: KeyCode) -> bool {
        match key {
            KeyCode::Char('q') => return false,
            KeyCode::Esc if self.shows_help => self.shows_help = false,
            KeyCode::Esc => return false,
            KeyCode::Char('s') => self.sort = self.sort.next(),
            KeyCode::Char('p') => self.is_paused = !self.is_paused,
            KeyCode::Char('?') => self.shows_help = !self.shows_help,
            KeyCode::Char('/') => self.typed = Some((self.words.clone(), None)),
            KeyCode::Down => self.first_line += 1,
            KeyCode::Up => self.first_line = self.first_line.saturating_sub(1),
            KeyCode::PageDown => self.first_line += 10,
            KeyCode::PageUp => self.first_line = self.first_line.saturating_sub(10),
            _ => {}
        }
        true
    }

    /// A key while a filter is typed.
    fn type_in(&mut self, key: KeyCode) {
        let Some((words, wrong)) = &mut self.typed else { return };
        match key {
            KeyCode::Char(letter) => words.push(letter),
            KeyCode::Backspace => _ = words.pop(),
            KeyCode::Esc => self.typed = None,
            KeyCode::Enter => match words.parse::<Filter>() {
                Ok(filter) => {
                    self.words = filter.to_string();
                    self.filter = filter;
                    self.first_line = 0;
                    self.typed = None;
                }
                Err(what) => *wrong = Some(what),
            },
            _ => {}
        }
    }

    /// The first line: what is shown, and how.
    fn title(&self) -> String {
        if let Some((words, wrong)) = &self.typed {
            let wrong = wrong.as_ref().map_or(String::new(), |wrong| format!("   {wrong}"));
            return format!("filter: {words}_   Enter: show these   Esc: as before{wrong}");
        }
        let sort = match self.sort {
            SortBy::Worst => "what is worst",
            SortBy::Rank => "rank",
            SortBy::Mpi => "MPI",
            SortBy::Work => "work",
            SortBy::Calls => "calls",
        };
        let filter = match &*self.words {
            "" => String::new(),
            words => format!("   filter: {words}"),
        };
        let state = match (self.sees, self.is_paused, self.job) {
            (false, _, None) => "   the run is over",
            (false, _, Some(_)) if self.summary.looks == 0 => "   no rank has come to MPI_Init yet",
            (false, _, Some(_)) => "   all ranks have left MPI",
            (_, true, _) => "   paused",
            _ => "",
        };
        let quit = if self.job.is_some() { "q leave the screen" } else { "q end" };
        format!("mpi-tool top   sorted by {sort}{filter}   ? help   {quit}{state}")
    }

    fn draw(&mut self, frame: &mut Frame<'_>) {
        let mut head =
            vec![Line::styled(self.title(), Style::new().add_modifier(Modifier::REVERSED))];
        if let Some(job) = self.job {
            let output = job.output.display();
            head.push(Line::raw(format!(
                "What the job prints is in {output}, and is shown when it has ended. ^C interrupts it"
            )));
        }
        let mut summary = self.summary.clone();
        self.filter.apply(&mut summary, &mut self.symbols);
        let mut table = Vec::new();
        let several = summary.worlds.len() > 1;
        for (name, world) in &summary.worlds {
            if several {
                head.push(Line::raw(format!("world {name}:")));
            }
            let said = sentences(&summary, world, &mut self.symbols);
            head.extend(said.into_iter().map(Line::raw));
            for line in lines(world, self.sort, &mut self.symbols) {
                let red = Style::new().fg(Color::Red);
                table.push(Line::styled(line.text, if line.stands { red } else { Style::new() }));
            }
        }
        let rows = u16::try_from(head.len()).unwrap_or(u16::MAX).min(frame.area().height / 2);
        let [top, title, rest] =
            Layout::vertical([Constraint::Length(rows), Constraint::Length(1), Constraint::Min(1)])
                .areas(frame.area());
        let most = table.len().saturating_sub(usize::from(rest.height));
        self.first_line = self.first_line.min(most);
        let shown: Vec<_> = table.into_iter().skip(self.first_line).collect();
        frame.render_widget(Paragraph::new(head), top);
        frame.render_widget(Paragraph::new(Line::styled(HEAD, Modifier::BOLD)), title);
        frame.render_widget(Paragraph::new(shown), rest);
        if self.shows_help {
            let area = frame.area();
            let area = area.intersection(Rect::new(2, 2, 54, 14));
            frame.render_widget(Clear, area);
            frame
                .render_widget(Paragraph::new(HELP).block(Block::bordered().title(" keys ")), area);
        }
    }
}
