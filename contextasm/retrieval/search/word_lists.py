"""English word tables for search: words that carry no topic, and forms that no stemmer reduces to their base form.

Data only, each table a compact string that is split once at import. Not a dictionary: a word that is missing here is
searched for in the form in which it is written.
"""

from __future__ import annotations

from typing import Final

STOP: Final = frozenset(
    """
    a about above after again against ago all almost already also although always am among an and another any anyone
    anything are around as at away
    be because been before being below between both but by
    can cannot could
    did do does doing done down during
    each either else ever every everyone everything
    few for from further
    get gets getting
    had has have having he hello her here hers herself hey hi him himself his how however
    i if in into is it its itself
    just
    kind
    let like likely
    many may maybe me might mine more most much must my myself
    neither no nor not now
    of off oh ok okay on once one only or other others our ours ourselves out over own
    per perhaps please
    quite
    rather really
    same shall she should since so some someone something such sure
    than thank thanks that the their theirs them themselves then there these they thing things this those though through
    to too toward towards
    under until up upon us
    very via
    was we well were what whatever when where whether which while who whom whose why will with within without would wow
    yeah yes yet you your yours yourself
    ain aren couldn d didn doesn don hadn hasn haven isn ll m mightn mustn needn re s shan shouldn t ve wasn weren won
    wouldn im ive dont didnt doesnt isnt wasnt cant wont thats whats lets
    """.split()
)

# Base form first, then the forms that lead to it.
_IRREGULAR: Final = """
    arise arose arisen; awake awoke awoken; bad worse worst; bear bore borne; beat beaten; become became; begin
    began begun; bend bent; bind bound; bite bit bitten; bleed bled; blow blew blown; break broke broken; breed
    bred; bring brought; build built; burn burnt; buy bought; calf calves; catch caught; child children; choose
    chose chosen; cling clung; come came; creep crept; crisis crises; criterion criteria; deal dealt; dig dug; dive
    dove; draw drew drawn; dream dreamt; drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen;
    feed fed; feel felt; fight fought; find found; flee fled; fly flew flown; foot feet; forbid forbade forbidden;
    forget forgot forgotten; forgive forgave forgiven; freeze froze frozen; give gave given; go went gone; goose
    geese; grind ground; grow grew grown; half halves; hang hung; hear heard; hide hid hidden; hold held; hypothesis
    hypotheses; index indices; keep kept; kneel knelt; knife knives; know knew known; lay laid; lead led; leaf
    leaves; lean leant; leap leapt; learn learnt; leave left; lend lent; life lives; light lit; lose lost; loss
    losses; make made; man men; matrix matrices; mean meant; meet met; mouse mice; pay paid; person people;
    phenomenon phenomena; quiz quizzes; ride rode ridden; ring rang rung; rise rose risen; run ran; say said; see
    saw seen; seek sought; sell sold; send sent; sew sewn; shake shook shaken; shelf shelves; shine shone; shoot
    shot; show shown; shrink shrank shrunk; sing sang sung; sink sank sunk; sit sat; sleep slept; slide slid; smell
    smelt; sow sown; speak spoke spoken; speed sped; spell spelt; spend spent; spill spilt; spin spun; spoil spoilt;
    spring sprang sprung; stand stood; steal stole stolen; stick stuck; sting stung; strike struck; strive strove;
    swear swore sworn; sweep swept; swell swollen; swim swam swum; swing swung; take took taken; teach taught; tear
    tore torn; tell told; thesis theses; think thought; thief thieves; throw threw thrown; tooth teeth; tread trod;
    understand understood; undo undid undone; vertex vertices; wake woke woken; wear wore worn; weave wove woven;
    weep wept; wife wives; win won; wind wound; wolf wolves; woman women; wring wrung; write wrote written; rewrite
    rewrote rewritten; overcome overcame; withdraw withdrew withdrawn; rebuild rebuilt; arrive arrival; choice
    choices; analysis analyses; die dying dead death; lie lying; tie tying
"""

# Short forms, and a few pairs of words that people use for each other.
_SHORT: Final = """
    mother mom mum mommy mummy; father dad daddy; grandmother grandma granny; grandfather grandpa; child kid kiddo;
    picture pic photo photograph; television tv; bicycle bike; telephone phone; refrigerator fridge; vacation
    holiday; favorite favourite fave; color colour; gray grey; theater theatre; center centre; program programme;
    neighbor neighbour; repository repo; database db; documentation docs doc; configuration config; authentication
    auth; environment env; application app; administrator admin; kubernetes k8s; javascript js; typescript ts;
    postgresql postgres; 1 first; 2 two second twice; 3 three third; 4 four fourth; 5 five fifth; 6 six sixth; 7
    seven seventh; 8 eight eighth; 9 nine ninth; 10 ten tenth; 12 twelve; 20 twenty
"""


def _base_of_form(table: str) -> dict[str, str]:
    rows = (row.split() for row in table.split(";"))
    return {form: base for base, *forms in rows for form in forms}


BASES: Final = _base_of_form(_IRREGULAR) | _base_of_form(_SHORT)

# A memory that holds one of these says when something happened, or how many or how long.
TIMES: Final = frozenset(
    """
    today tonight yesterday tomorrow last next ago week weeks weekend month months year years day days morning evening
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september
    october november december recently spring summer autumn fall winter
    """.split()
)
COUNTS: Final = frozenset(
    "one two three four five six seven eight nine ten dozen hundred thousand once twice few couple several".split()
)

_MONTH_NAMES: Final = "january february march april may june july august september october november december".split()
MONTHS: Final = {name[:3]: number for number, name in enumerate(_MONTH_NAMES, 1)}
# Whole or by its first letters: `jan`, `january`; September also as `sept`.
MONTH_PATTERN: Final = "(?:" + "|".join(f"{name[:3]}(?:{name[3:]})?" for name in _MONTH_NAMES) + "|sept)"
