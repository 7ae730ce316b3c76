//! Tiers can be selected by name, and each runs a kernel.

use tachyfits_kernels::Tier;
use tachyfits_kernels::isa::{Kernel, dispatch};

struct Answer;
impl Kernel for Answer {
    type Output = i32;
    #[inline(always)]
    fn run(self) -> i32 {
        42
    }
}

#[test]
fn every_available_tier_runs_and_is_found_by_its_name() {
    for tier in Tier::available() {
        assert_eq!(dispatch(tier, Answer), 42);
        assert_eq!(Tier::by_name(tier.name()), Ok(tier));
    }
}

#[test]
fn an_unknown_name_is_refused_with_the_names_that_exist() {
    let error = Tier::by_name("x86-64-v9").unwrap_err();
    let words = error.to_string();
    assert!(words.contains("x86-64-v9") && words.contains("scalar"), "{words}");
}
