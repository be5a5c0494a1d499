//! `mpi-tool top` and `mpi-tool run --live` in a real terminal, which tmux is: what stands on it after keys, after it has got
//! another size, and when the job has ended.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::common::{abi, compile_with, launcher, setting, text};
use crate::crowd::{crowd, waits_for};
use crate::hang::{Job, LIMIT};
use crate::top::started;

/// A terminal with a server of its own, which is ended when the value is dropped.
struct Terminal {
    folder: TempDir,
}

impl Terminal {
    /// Runs a command line of the shell in it. Its exit status is kept.
    fn of(command: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let status = folder.path().join("status");
        // The key that interrupts reaches this shell, too, and is not to end it.
        let script = format!(
            "trap : INT; cd '{}'; {command}; echo $? > '{}'; exec sleep 1000",
            text(folder.path()),
            text(&status)
        );
        let terminal = Self { folder };
        terminal.tmux(&["new-session", "-d", "-x", "120", "-y", "30", "sh", "-c", &script]);
        terminal
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(self.folder.path().join("socket")).args(["-f", "/dev/null"]);
        // In a terminal of tmux, it would be that server's.
        let output = tmux.args(arguments).env_remove("TMUX").output().expect("tmux runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {said}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    fn press(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    /// Types letters as they are.
    fn enter(&self, letters: &str) {
        self.tmux(&["send-keys", "-l", letters]);
        self.press("Enter");
    }

    fn resize(&self, columns: u32, rows: u32) {
        self.tmux(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
    }

    /// Waits until the screen is as it should be.
    fn until(&self, what: &str, is_right: impl Fn(&str) -> bool) -> String {
        let begin = Instant::now();
        loop {
            let screen = self.screen();
            if is_right(&screen) {
                return screen;
            }
            assert!(begin.elapsed() < LIMIT, "{what}:\n{screen}");
            sleep(Duration::from_millis(50));
        }
    }

    fn until_has(&self, words: &str) -> String {
        self.until(words, |screen| screen.contains(words))
    }

    /// The command's exit status, once it has ended.
    fn status(&self) -> String {
        let begin = Instant::now();
        loop {
            let status = fs::read_to_string(self.folder.path().join("status")).unwrap_or_default();
            if status.ends_with('\n') {
                return status.trim().to_owned();
            }
            assert!(begin.elapsed() < LIMIT, "the command goes on:\n{}", self.screen());
            sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(self.folder.path().join("socket")).arg("kill-server");
        // It may be gone.
        let _ = tmux.env_remove("TMUX").stderr(Stdio::null()).status();
    }
}

/// The tools' folder, from everywhere.
fn tools() -> String {
    text(&fs::canonicalize(setting("MPI_TOOLS")).unwrap()).to_owned()
}

const MPI_TOOL: &str = env!("CARGO_BIN_EXE_mpi-tool");

fn top(job: &Job, options: &str) -> Terminal {
    let run = job.run_folder();
    Terminal::of(&format!("'{MPI_TOOL}' top '{}' --every 200ms {options}", text(&run)))
}

/// Lines of the table: each begins with a share.
fn table(screen: &str) -> Vec<&str> {
    let lines = screen.lines().skip_while(|line| !line.contains("calls/s"));
    lines.skip(1).filter(|line| line.contains(" % ")).collect()
}

#[test]
fn keys_do_what_the_help_says() {
    let job = started(4, &[]);
    let terminal = top(&job, "");
    let screen = terminal.until("the cause is told", |screen| {
        screen.contains("4 ranks of 4, ") && screen.contains(" for rank 0, which is outside of MPI")
    });
    assert!(
        screen.starts_with("mpi-tool top   sorted by what is worst   ? help   q end"),
        "{screen}"
    );
    // Who is waited for comes first.
    assert!(table(&screen)[0].contains("rank 0 is outside of MPI"), "{screen}");
    for by in ["rank", "MPI", "work", "calls", "what is worst"] {
        terminal.press("s");
        terminal.until_has(&format!("sorted by {by}  "));
    }

    terminal.press("?");
    let screen = terminal.until_has("┌");
    let keys = screen
        .lines()
        .filter(|line| ["s  ", "/  ", "p  ", "?  "].iter().any(|key| line.contains(key)));
    assert!(keys.count() >= 4 && screen.contains("!WORD") && screen.contains('└'), "{screen}");
    terminal.press("?");
    terminal.until("no help", |screen| !screen.contains('┌'));

    terminal.press("p");
    let paused = terminal.until_has("   paused");
    sleep(Duration::from_secs(1));
    assert_eq!(terminal.screen(), paused);
    terminal.press("p");
    terminal.until("it goes on", |screen| !screen.contains("paused"));

    terminal.press("q");
    assert_eq!(terminal.status(), "0");
    // What was there before the screen is there again: nothing.
    assert!(!terminal.screen().contains("sorted by"));
}

#[test]
fn a_filter_is_typed() {
    let job = started(4, &[]);
    let terminal = top(&job, "");
    terminal.until_has(" for rank 0, which is outside of MPI");
    terminal.press("/");
    terminal.until_has("filter: _");
    terminal.enter("1-2 MPI_Recv");
    let screen = terminal.until_has("; the filter shows 2 of them");
    assert!(screen.contains("   filter: 1-2 MPI_Recv   "), "{screen}");
    assert!(
        table(&screen).iter().all(|line| line.contains("ranks 1-2 are in MPI_Recv")),
        "{screen}"
    );
    // What makes no sense is told, and can be mended.
    terminal.press("/");
    terminal.until_has("filter: 1-2 MPI_Recv_");
    for _ in 0.."1-2 MPI_Recv".len() {
        terminal.press("BSpace");
    }
    // q is a letter here.
    terminal.enter("3-1 q");
    terminal.until_has("3-1: ranks are written as 3 or 0-7,12");
    terminal.press("Escape");
    terminal.until_has("   filter: 1-2 MPI_Recv   ");
    terminal.press("q");
    assert_eq!(terminal.status(), "0");
}

/// A thousand ranks are two lines, and keys are answered.
#[test]
fn a_thousand_ranks_are_readable() {
    let folder = crowd(1_024, waits_for(17));
    let terminal =
        Terminal::of(&format!("'{MPI_TOOL}' top '{}' --every 200ms", text(folder.path())));
    let screen = terminal.until_has("ranks 0-16, 18-1023: in one call for all of that time");
    assert!(screen.contains("1024 ranks of 1024 on 32 hosts, "), "{screen}");
    assert_eq!(table(&screen).len(), 2, "{screen}");
    assert!(table(&screen)[1].contains("rank 17 is outside of MPI after MPI_Recv"), "{screen}");
    terminal.press("/");
    terminal.enter("outside");
    let screen = terminal.until_has("; the filter shows 1 of them");
    assert_eq!(table(&screen).len(), 1, "{screen}");
    terminal.press("q");
    assert_eq!(terminal.status(), "0");
}

/// A terminal of any size has as much as there is room for, and ^C ends it.
#[test]
fn a_terminal_may_get_another_size() {
    let job = started(4, &[]);
    let terminal = top(&job, "");
    terminal.until_has(" for rank 0, which is outside of MPI");
    for (columns, rows) in [(40, 10), (1, 1), (20, 3), (200, 50)] {
        terminal.resize(columns, rows);
        terminal.press("?");
        sleep(Duration::from_millis(500));
        let screen = terminal.screen();
        assert!(screen.lines().count() <= rows as usize, "{screen}");
        assert!(screen.lines().all(|line| line.chars().count() <= columns as usize), "{screen}");
    }
    let screen = terminal.until("all is there again", |screen| table(screen).len() >= 2);
    assert!(screen.contains("4 ranks of 4, "), "{screen}");
    terminal.press("C-c");
    assert_eq!(terminal.status(), "0");
}

#[test]
fn the_end_of_a_job_is_told() {
    let job = started(2, &["30"]);
    let terminal = top(&job, "");
    terminal.until_has("2 ranks of 2, ");
    let screen = terminal.until_has("   the run is over");
    // What was seen last stays.
    assert!(screen.contains("2 ranks of 2, "), "{screen}");
    terminal.press("q");
    assert_eq!(terminal.status(), "0");
}

#[test]
fn the_end_of_a_killed_job_is_told() {
    let mut job = started(2, &[]);
    let terminal = top(&job, "");
    terminal.until_has("2 ranks of 2, ");
    job.kill();
    terminal.until_has("   the run is over");
    terminal.press("Escape");
    assert_eq!(terminal.status(), "0");
}

/// `mpi-tool run --live OPTIONS -- mpiexec -n 2 live SCRIPT`: a shell around the program says something before and behind it.
fn live(options: &str, steps: &str) -> Terminal {
    let program: PathBuf = compile_with(setting("MPICC"), "live", "live", &["-g"]);
    let [mpiexec, option, ranks] = launcher("2");
    Terminal::of(&format!(
        "export MPI_TOOL_PATH='{}'; '{MPI_TOOL}' run --live --abi {} {options} -- sh -c \
         'echo it begins; echo an error >&2; \"$@\"; echo it ends; exit 7' sh '{mpiexec}' {option} {ranks} '{}' {steps}",
        tools(),
        abi(),
        text(&program)
    ))
}

#[test]
fn a_job_is_started_and_shown() {
    let terminal = live("", "40");
    let screen = terminal.until_has("2 ranks of 2, ");
    assert!(
        screen.contains("q leave the screen") && screen.contains("What the job prints is in "),
        "{screen}"
    );
    assert!(!screen.contains("it begins"), "{screen}");
    let file = screen.split_once("What the job prints is in ").unwrap().1;
    let file = file.split_once(", and is shown").unwrap().0.to_owned();
    assert_eq!(fs::read_to_string(&file).unwrap(), "it begins\nan error\n");
    terminal.until_has("rank 1 is in MPI_Recv at live.c");
    // The status is the launcher's, and all that it has printed is there.
    assert_eq!(terminal.status(), "7");
    let lines: Vec<_> = terminal.screen().lines().map(str::to_owned).collect();
    assert_eq!(lines[..3], ["it begins", "an error", "it ends"]);
    assert!(!Path::new(&file).exists());
}

/// q leaves the screen: what the job has printed is there, and what it prints then follows.
#[test]
fn a_job_goes_on_without_its_screen() {
    let terminal = live("", "60");
    terminal.until_has("2 ranks of 2, ");
    terminal.press("q");
    let screen = terminal.until_has("an error");
    assert!(screen.starts_with("it begins\n") && !screen.contains("it ends"), "{screen}");
    assert_eq!(terminal.status(), "7");
    assert!(
        terminal.screen().starts_with("it begins\nan error\nit ends\n"),
        "{}",
        terminal.screen()
    );
}

/// The key that interrupts a job does so: the shell of the job ends by the signal, as it does without the screen.
#[test]
fn a_job_can_be_interrupted() {
    let terminal = live("", "");
    terminal.until_has("2 ranks of 2, ");
    terminal.press("C-c");
    let status = terminal.status();
    assert!(terminal.screen().starts_with("it begins\nan error\n"), "{}", terminal.screen());
    assert!(!terminal.screen().contains("it ends"), "{}", terminal.screen());
    assert_eq!(status, "130");
}

/// What the guard says comes behind the screen, and `--kill` ends the job.
#[test]
fn a_hang_is_told_behind_the_screen() {
    let program = crate::hang::program();
    let [mpiexec, option, ranks] = launcher("2");
    let terminal = Terminal::of(&format!(
        "export MPI_TOOL_PATH='{}'; '{MPI_TOOL}' run --live --hang-after 12s --kill -- '{mpiexec}' \
         {option} {ranks} '{}' 'receive cycle'",
        tools(),
        text(&program)
    ));
    let screen = terminal.until_has("in one call for all of that time");
    assert!(screen.starts_with("mpi-tool top "), "{screen}");
    // Ranks that stand are red.
    let colored = terminal.tmux(&["capture-pane", "-p", "-e"]);
    let line = colored.lines().find(|line| line.contains("ranks 0-1 are in MPI_Recv"));
    assert!(
        line.is_some_and(|line| ["\x1b[31m", "\x1b[38;5;1m"].iter().any(|red| line.contains(red))),
        "{colored:?}"
    );
    assert_eq!(terminal.status(), "124");
    let all = terminal.tmux(&["capture-pane", "-p", "-S", "-"]);
    assert_eq!(all.matches("mpi-tool: no rank has made an MPI call for 12 s").count(), 1, "{all}");
    assert!(all.contains("mpi-tool: ending the launcher (--kill)"), "{all}");
}
