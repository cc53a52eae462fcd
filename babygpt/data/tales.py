"""Tales: short stories in which word order alone tells who did what to whom.

Each story states a fact, may continue with up to three scenes, asks about the fact, and may state it again.
If two names are exchanged, the story has the same characters but another answer, so a model that ignores
order is right half of the time. Names are made of syllables. There are too many to memorise, so a model has
to look back.
"""

from functools import cache
from itertools import product

from babygpt.data.grammar import Grammar

ENGLISH_WORDS = {
    "name": ["".join(s) for s in product("bdfgjklmnprstvwz", "aeiou", "lmnrvs", "aiou")],
    "verb": "called chased fed found freed fooled heard helped hid hired hugged led met missed paid "
    "passed saved stung thanked told traced tricked cheered carried".split(),
    "thing": "ball boat book cake coat cup drum flag fork hat harp jug key kite lamp map mug nut pear ring "
    "rope sled vase wig".split(),
    "trait": "older taller faster kinder braver louder neater richer wiser calmer shorter slower "
    "smaller quicker nicer".split(),
    "act": "ate with|dug with|fought|jumped at|looked at|ran from|rode with|sang to|sat with|slept by|"
    "spoke to|swam to|waved to|went by|woke up|wrote to".split("|"),
    "where": "at dawn|at dusk|at noon|at sea|by bus|by day|by night|in bed|in fog|in june|in may|in mud|"
    "in rain|in snow|on foot|on ice|on logs|on sand|up north|down south".split("|"),
    "look": "big blue calm cold dark dry fat fit grey lazy mad odd old pale pink red sad shy sly tall thin "
    "warm wet wild".split(),
    "animal": "ants apes bats bees bears cats cubs deer dogs ducks eels elks foxes geese goats hens jays "
    "lambs mice moles owls pigs rams rats seals wolves yaks".split(),
}


def _both(scene: str) -> tuple[str, str]:
    """Return a scene of a and b, and of b and a. Each has both names, so counting names does not help."""
    return scene.format(x="{name.a}", y="{name.b}"), scene.format(x="{name.b}", y="{name.a}")


def _asked(fact: str, who: str, whom: str, again: str) -> tuple[str, ...]:
    """Return four stories of one fact: ask for the doer a or for the other one, b; repeat the fact or not."""
    return tuple(f"{fact}[gap]{ask}{end}" for ask in (who, whom) for end in ("", again))


def _plain(did: str, who: str) -> tuple[str, ...]:
    """Return the four stories of a fact that names the doer first."""
    return _asked(
        f"{{name.a}} {did} {{name.b}}",
        f"who {who}? {{name.a!b}}.",
        f"{did} whom? {{name.b!a}}.",
        f" so {{name.a}} {did} {{name.b}}.",
    )


ENGLISH_RULES = {
    "story": (
        *_plain("{verb}", "{verb}"),
        *_plain("gave a {thing} to", "gave a {thing}"),
        *_plain("lost a {thing} to", "lost a {thing}"),
        *_plain("is {trait} than", "is {trait}"),
        *_plain("came before", "came before"),
        *_plain("won a {thing} from", "won a {thing}"),
        *_plain("sat near", "sat near"),
        # the passive exchanges the two ends
        *_asked(
            "{name.b} was {verb} by {name.a}",
            "who {verb}? {name.a!b}.",
            "{verb} whom? {name.b!a}.",
            " so {name.a} {verb} {name.b}.",
        ),
        # a chain: the question names the one in the middle
        *_asked(
            "{name.a} {verb} {name.c} and {name.c} {verb} {name.b}",
            "who {verb} {name.c}? {name.a!b}.",
            "{name.c} {verb} whom? {name.b!a}.",
            " so {name.a} {verb} {name.c}.",
        ),
    ),
    "gap": (". ", ". [scenes]"),
    "scenes": ("[scene]. ", "[scene]. [scene]. ", "[scene]. [scene]. [scene]. "),
    "scene": (
        *_both("{x} {{act}} {y}"),
        *_both("{x} and {y} met {{name.z}}"),
        "{name.z} met {name.w} {where}",
        "{look} {animal} came {where}",
    ),
}


CHINESE_WORDS = {
    "name": list("我你他她爸妈哥姐弟妹爷奶"),
    "verb": list("爱帮抱等劝请骂救谢追找问打"),
    "thing": "一本书 一把伞 一个梨 一面鼓 一张画 一只碗 一条船 一块糖 一双鞋 一顶帽".split(),
    "trait": list("高胖快勤美老富忙累"),
    "act": "看 想 躲 陪 叫 拉 跟 背".split(),
    "where": "河边 山上 桥下 家里 村口 田里 雨中 树下".split(),
    "look": list("白黑花灰瘦懒"),
    "animal": list("猫狗鸡羊牛马鸟鱼"),
}


def _chinese(fact: str, who: str, whom: str, again: str) -> tuple[str, ...]:
    """Return the four stories of a Chinese fact, of the two questions without their marks and answers."""
    return _asked(fact, f"{who}？{{name.a!b}}。", f"{whom}？{{name.b!a}}。", f"所以{again}。")


CHINESE_RULES = {
    "story": (
        *_chinese("{name.a}{verb}{name.b}", "{verb}人的是谁", "被{verb}的是谁", "{name.a}{verb}{name.b}"),
        *_chinese("{name.b}被{name.a}{verb}了", "{verb}人的是谁", "被{verb}的是谁", "{name.a}{verb}{name.b}"),
        # a chain: the two questions hold the same characters
        *_chinese(
            "{name.a}{verb}{name.c}，{name.c}{verb}{name.b}",
            "谁{verb}{name.c}",
            "{name.c}{verb}谁",
            "{name.a}{verb}{name.c}",
        ),
        *_chinese("{name.a}给{name.b}{thing}", "谁给了{thing}", "谁得了{thing}", "{name.a}给{name.b}{thing}"),
        *_chinese("{name.a}比{name.b}{trait}", "谁更{trait}", "谁不够{trait}", "{name.a}比{name.b}{trait}"),
        *_chinese("{name.a}先到，{name.b}后到", "谁先到", "谁后到", "{name.a}先到"),
        *_chinese(
            "{name.a}有{thing.x}，{name.b}有{thing.y}",
            "谁有{thing.x}",
            "谁有{thing.y}",
            "{name.a}有{thing.x}",
        ),
    ),
    "gap": ("。", "。[scenes]"),
    "scenes": ("[scene]。", "[scene]。[scene]。", "[scene]。[scene]。[scene]。"),
    "scene": (
        *_both("{x}{{act}}着{y}"),
        *_both("{x}和{y}见到{{name.z}}"),
        "{name.z}在{where}见到{name.w}",
        "{look}{animal}来到{where}",
    ),
}


@cache
def english() -> Grammar:
    """Return the grammar of the English tales."""
    return Grammar({kind: tuple(words) for kind, words in ENGLISH_WORDS.items()}, ENGLISH_RULES)


@cache
def plain() -> Grammar:
    """Return a smaller grammar: one kind of fact, no scenes, and only names that end in -la or -ra."""
    whole = english()
    rules = {"story": whole.rules["story"][:4], "gap": whole.rules["gap"][:1]}
    names = tuple(name for name in whole.words["name"] if name.endswith(("la", "ra")))
    return Grammar({**whole.words, "name": names}, rules)


@cache
def chinese() -> Grammar:
    """Return the grammar of the Chinese tales."""
    return Grammar({kind: tuple(words) for kind, words in CHINESE_WORDS.items()}, CHINESE_RULES)
