#include "names.hpp"

#include <array>
#include <string_view>

namespace ftlfeed::sim {
namespace {

constexpr std::size_t kSquadSize = 18;

struct Script {
    std::array<std::string_view, 8> given;
    std::array<std::string_view, 8> family;
    std::string_view between;  // Between given and family name.
    bool family_first;
};

constexpr std::array<Script, 8> kScripts{{
    {{"João", "Inês", "Étienne", "Zoë", "Søren", "Łukasz", "Çağrı", "Ñusta"},
     {"Gonçalves", "Müller", "Dvořák", "Þórsson", "Šimić", "Nuñez", "Ågren", "Żółć"},
     " ",
     false},
    {{"Олександр", "Дмитрий", "Ђорђе", "Їжак", "Анастасія", "Иван", "Ўлад", "Георги"},
     {"Шевчук", "Соколов", "Јовановић", "Ґалаґан", "Петренко", "Ёлкин", "Љубић", "Димитров"},
     " ",
     false},
    {{"محمد", "يوسف", "خالد", "عمر", "سالم", "طارق", "رامي", "زياد"},
     {"الشريف", "بن ناصر", "العامري", "الحسن", "المنصور", "القاسم", "الفارس", "البدري"},
     " ",
     false},
    {{"伟", "芳", "磊", "静", "强", "敏", "军", "丽"}, {"王", "李", "张", "刘", "陈", "杨", "赵", "黄"}, "", true},
    {{"太郎", "翔", "健", "ひかり", "大輔", "さくら", "ケンジ", "蓮"},
     {"佐藤", "鈴木", "高橋", "田中", "渡辺", "伊藤", "山本", "髙木"},
     " ",
     true},
    {{"Seán", "N'Golo", "D'Arcy", "Aoife", "M'Baye", "Ruairí", "Conan", "Niamh"},
     {"O'Brien", "O’Shea", "N'Diaye", "D'Angelo", "Mac Giolla", "O'Neill", "L'Écuyer", "Smyth-O'Hara"},
     " ",
     false},
    {{"Pedro", "Ana", "\"Kuki\"", "Luis", "\"El Tigre\"", "Mateo", "Rosa", "Iván"},
     {"García \"Pipo\"", "Peña", "Ibáñez", "Gómez & Ruiz", "Díaz", "López\\Vega", "Núñez", "<Ortega>"},
     " ",
     false},
    {{"Nguyễn", "민준", "สมชาย", "Γιώργος", "आरव", "დავით", "Արամ", "אורי"},
     {"Hữu Phước", "김", "ใจดี", "Παπαδόπουλος", "शर्मा", "მაისურაძე", "Սարգսյան", "כהן"},
     " ",
     false},
}};

constexpr std::array<std::string_view, 16> kTeams{"São Bento",    "Київ Схід",       "الواحة",         "东方",
                                                  "東都",         "Baile Átha Móir", "Río \"Grande\"", "Ελλάς Νότος",
                                                  "Curaçao Nord", "Нова Сербија",    "النيل",          "长城 United",
                                                  "北海道",       "Côte d'Émeraude", "Peña & Sons",    "Hà Nội Sông"};

constexpr std::array<std::string_view, 8> kSuffixes{"", " II", " Norte", " Süd", " Østre", " IV", " Älv", " VI"};

std::string player_name(const Script& script, std::size_t number, std::size_t shift) {
    const auto given = script.given[number % script.given.size()];
    // The family name moves on by one more with every round of given names, so that no pair comes twice.
    const auto family = script.family[(number + number / script.given.size() + shift) % script.family.size()];
    const auto first = script.family_first ? family : given;
    const auto second = script.family_first ? given : family;
    std::string name(first);
    name += script.between;
    name += second;
    return name;
}

}  // namespace

Squad squad_of(std::size_t team) {
    Squad squad;
    squad.team = std::string(kTeams[team % kTeams.size()]);
    squad.team += kSuffixes[team / kTeams.size() % kSuffixes.size()];
    const auto& script = kScripts[team % kScripts.size()];
    for (std::size_t n = 0; n < kSquadSize; ++n)
        squad.players.push_back(player_name(script, n, team / kScripts.size()));
    return squad;
}

}  // namespace ftlfeed::sim
