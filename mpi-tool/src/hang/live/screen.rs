//! A screen that is drawn anew each second.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph};
use ratatui::{DefaultTerminal, Frame};

use super::Eye;
use super::text::{HEAD, lines, sentences};
use super::window::Summary;
use crate::cli::{SortBy, Top};
use crate::report::symbols::Symbols;

const HELP: &str = "\
 s  sort by rank, MPI, work, calls
 p  pause, and go on
 ↑ ↓ PgUp PgDn  scroll
 ?  this help
 q  end";

struct Screen {
    sort: SortBy,
    is_paused: bool,
    shows_help: bool,
    first_line: usize,
    is_over: bool,
    summary: Summary,
    symbols: Symbols,
}

pub(super) fn run(eye: &mut Eye, options: &Top) -> Result<()> {
    let mut terminal = ratatui::try_init().context("the terminal cannot be drawn on")?;
    let result = Screen::new(eye, options).run(&mut terminal, eye, options.every);
    ratatui::restore();
    result
}

impl Screen {
    fn new(eye: &Eye, options: &Top) -> Self {
        Self {
            sort: options.sort,
            is_paused: false,
            shows_help: false,
            first_line: 0,
            is_over: false,
            summary: eye.summary(),
            symbols: Symbols::default(),
        }
    }

    fn run(mut self, terminal: &mut DefaultTerminal, eye: &mut Eye, every: Duration) -> Result<()> {
        let mut draw = Instant::now();
        loop {
            if !self.is_over && eye.rest().is_zero() {
                self.is_over = !eye.look();
            }
            if Instant::now() >= draw {
                if !self.is_paused && !self.is_over {
                    self.summary = eye.summary();
                }
                terminal.draw(|frame| self.draw(frame))?;
                draw = Instant::now() + every;
            }
            let rest = draw.saturating_duration_since(Instant::now());
            let rest = if self.is_over { rest } else { rest.min(eye.rest()) };
            if event::poll(rest)? {
                match event::read()? {
                    Event::Key(key) if key.kind == KeyEventKind::Press => {
                        let ends = key.code == KeyCode::Char('c')
                            && key.modifiers.contains(KeyModifiers::CONTROL);
                        if ends || !self.press(key.code) {
                            return Ok(());
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
            KeyCode::Down => self.first_line += 1,
            KeyCode::Up => self.first_line = self.first_line.saturating_sub(1),
            KeyCode::PageDown => self.first_line += 10,
            KeyCode::PageUp => self.first_line = self.first_line.saturating_sub(10),
            _ => {}
        }
        true
    }

    fn draw(&mut self, frame: &mut Frame<'_>) {
        let sort = match self.sort {
            SortBy::Rank => "rank",
            SortBy::Mpi => "MPI",
            SortBy::Work => "work",
            SortBy::Calls => "calls",
        };
        let state = match (self.is_over, self.is_paused) {
            (true, _) => "   the run is over",
            (_, true) => "   paused",
            _ => "",
        };
        let mut head = vec![Line::styled(
            format!("mpi-tool top   sorted by {sort}   ? help   q end{state}"),
            Style::new().add_modifier(Modifier::REVERSED),
        )];
        let mut table = Vec::new();
        let several = self.summary.worlds.len() > 1;
        for (name, world) in &self.summary.worlds {
            if several {
                head.push(Line::raw(format!("world {name}:")));
            }
            let said = sentences(&self.summary, world, &mut self.symbols);
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
            let area = area.intersection(ratatui::layout::Rect::new(2, 2, 40, 7));
            frame.render_widget(Clear, area);
            frame
                .render_widget(Paragraph::new(HELP).block(Block::bordered().title(" keys ")), area);
        }
    }
}
