//! Values that communicators keep, and what MPI says of itself in the same way.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rmpi::{AttributeCopy, Keyval};

/// Counts itself.
struct Counted(&'static str);
static LIVE: AtomicUsize = AtomicUsize::new(0);

impl Counted {
    fn new(name: &'static str) -> Arc<Self> {
        LIVE.fetch_add(1, Ordering::Relaxed);
        Arc::new(Self(name))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

fn live() -> usize {
    LIVE.load(Ordering::Relaxed)
}

fn main() -> rmpi::RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();

    let shared = Keyval::<Counted>::new(&context, AttributeCopy::Share)?;
    let once = Keyval::<Counted>::new(world, AttributeCopy::Never)?;
    let mine = world.dup()?;
    assert!(mine.get_attr(&shared)?.is_none());
    mine.set_attr(&shared, Counted::new("first"))?;
    mine.set_attr(&shared, Counted::new("shared"))?;
    assert_eq!(live(), 1, "the second took the first one's place");
    mine.set_attr(&once, Counted::new("once"))?;
    let copy = mine.dup()?;
    let found = copy.get_attr(&shared)?.expect("it was copied");
    assert_eq!(found.0, "shared");
    assert!(Arc::ptr_eq(&found, &mine.get_attr(&shared)?.expect("it is there")));
    assert!(copy.get_attr(&once)?.is_none());
    drop((found, mine));
    assert_eq!(live(), 1, "the copy keeps one");
    // The key goes before its values.
    shared.free()?;
    copy.free()?;
    assert_eq!(live(), 0);
    let mine = world.dup()?;
    mine.set_attr(&once, Counted::new("once"))?;
    mine.delete_attr(&once)?;
    assert_eq!(live(), 0);
    assert!(mine.get_attr(&once)?.is_none());

    assert!(world.tag_ub()?.is_some_and(|tag| tag >= 32767), "the standard's least");
    println!("universe {:?}, program {:?}", world.universe_size()?, world.appnum()?);
    println!("clocks agree: {:?}, files: {:?}", world.wtime_is_global()?, world.io()?);
    if world.rank()? == 0 {
        println!("attributes: right on {} ranks", world.size()?);
    }
    Ok(())
}
