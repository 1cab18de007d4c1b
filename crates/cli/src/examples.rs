//! An example of each verb, which ends its help and its manual page.

use clap::Command;

/// Verbs, and a command that somebody would type.
const EXAMPLES: &[(&str, &str)] = &[
    ("mkfs", "pumice mkfs -t f2fs --from rootfs --free 100M card.img"),
    ("mount", "pumice mount --daemon -o ro /dev/sdc1 /mnt"),
    ("ls", "pumice ls -lh card.img /DCIM"),
    ("tree", "pumice tree card.img /DCIM"),
    ("cat", "pumice cat card.img /etc/fstab"),
    ("stat", "pumice stat card.img /DCIM/1.jpg"),
    ("find", "pumice find card.img --name '*.jpg'"),
    ("get", "pumice get card.img /DCIM photos"),
    ("tar", "pumice tar card.img / | zstd > card.tar.zst"),
    ("put", "pumice put card.img photos /DCIM"),
    ("mkdir", "pumice mkdir -p card.img /DCIM/100"),
    ("rm", "pumice rm -r card.img /DCIM/100"),
    ("mv", "pumice mv card.img /DCIM /photos"),
    ("ln", "pumice ln -s card.img photos/1.jpg /newest"),
    ("quota", "pumice quota card.img -u 1000 --space 1G:2G"),
    ("attr", "pumice attr card.img /DCIM --flags +i --set user.by=me"),
    ("seal", "pumice seal card.img /DCIM/1.jpg"),
    ("tune", "pumice tune -l photos card.img"),
    ("resize", "pumice resize card.img 8G"),
    ("defrag", "pumice defrag card.img /DCIM"),
    ("clean", "pumice clean --all card.img"),
    ("info", "pumice info /dev/mtd3"),
    ("df", "pumice df -h card.img"),
    ("map", "pumice map card.img /DCIM/1.jpg"),
    ("whois", "pumice whois card.img 5120"),
    ("dump", "pumice dump card.img cp"),
    ("dump sb", "pumice dump card.img sb"),
    ("dump cp", "pumice dump card.img cp --json"),
    ("dump nat", "pumice dump card.img nat 3 10"),
    ("dump sit", "pumice dump card.img sit 0 8"),
    ("dump ssa", "pumice dump card.img ssa 5"),
    ("dump node", "pumice dump card.img node 3"),
    ("dump dentry", "pumice dump card.img dentry /DCIM"),
    ("fsck", "pumice fsck -y /dev/mtd3"),
    ("rescue", "pumice rescue card.img saved"),
    ("undelete", "pumice undelete card.img '*.jpg' saved"),
    ("scrub", "pumice scrub --quick chip"),
    ("chips", "pumice chips --json"),
    ("nand", "pumice nand stats chip"),
    ("nand create", "pumice nand create --chip slc-2k-2g chip"),
    ("nand import", "pumice nand import --chip slc-2k-2g dump chip"),
    ("nand export", "pumice nand export chip dump"),
    ("nand flip", "pumice nand flip --page 646 chip"),
    ("nand kill", "pumice nand kill --page 645 chip"),
    ("nand age", "pumice nand age chip 2y"),
    ("nand wear", "pumice nand wear --erases 90000 chip"),
    ("nand disturb", "pumice nand disturb --harmless 100000 chip"),
    ("nand cut", "pumice nand cut --after 100 chip"),
    ("nand stats", "pumice nand stats --json chip"),
    ("sim", "pumice sim --access zipf:0.99 --victim greedy,cat,default --seed 1..4"),
    ("lab", "pumice lab run papers --seeds 1"),
    ("lab list", "pumice lab list"),
    ("lab run", "pumice lab run cat-fig12 lifetime"),
    ("lab merge", "pumice lab merge part1 part2"),
    ("lab report", "pumice lab report --pictures pictures"),
    ("ftl", "pumice ftl info chip"),
    ("ftl create", "pumice ftl create --chip slc-2k-2g --parity-pages 1 chip"),
    ("ftl check", "pumice ftl check -n chip"),
    ("ftl info", "pumice ftl info chip"),
    ("ftl mount", "pumice ftl mount --daemon chip raw"),
    ("ftl scrub", "pumice ftl scrub --quick chip"),
    ("man", "pumice man /usr/local/share/man/man1"),
    ("completions", "pumice completions bash > /etc/bash_completion.d/pumice"),
];

/// The example of a verb, which is named as it is typed, such as `nand kill`.
pub(crate) fn of(verb: &str) -> Option<&'static str> {
    EXAMPLES.iter().find(|(known, _)| *known == verb).map(|(_, example)| *example)
}

/// The same table of verbs, each with its example at the end of its help.
pub(crate) fn with_examples(command: Command) -> Command {
    fn below(verb: &str, command: Command) -> Command {
        let verb = format!("{verb} {}", command.get_name()).trim_start().to_owned();
        let Some(example) = of(&verb) else { return command };
        let more = command.get_after_help().map(|help| format!("{help}\n\n")).unwrap_or_default();
        let help = format!("{more}Example:\n  {example}");
        command.after_help(help).mut_subcommands(|command| below(&verb, command))
    }
    command.mut_subcommands(|command| below("", command))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn verbs(verb: &str, command: &Command) -> Vec<String> {
        let below = command.get_subcommands().filter(|below| below.get_name() != "help");
        below
            .flat_map(|below| {
                let verb = format!("{verb} {}", below.get_name()).trim_start().to_owned();
                [vec![verb.clone()], verbs(&verb, below)].concat()
            })
            .collect()
    }

    #[test]
    fn every_verb_has_an_example_that_can_be_typed() {
        let table = crate::args::Command::command();
        let verbs = verbs("", &table);
        let without: Vec<_> = verbs.iter().filter(|verb| of(verb).is_none()).collect();
        assert!(without.is_empty(), "{without:?}");
        let mut wrong = Vec::new();
        for (verb, example) in EXAMPLES {
            assert!(verbs.iter().any(|known| known == verb), "{verb}");
            let typed = example.split(['|', '>']).next().unwrap_or_default();
            let words = typed.split_whitespace().map(|word| word.trim_matches('\''));
            let parsed = table.clone().try_get_matches_from(words);
            wrong.extend(parsed.err().map(|error| format!("{example}: {error}")));
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
