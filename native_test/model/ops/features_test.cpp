// TfIdfVectorizer beside a count on the host, and MelWeightMatrix by properties of its triangles.
#include "model/onnx_model.hpp"

namespace dala::test {

using model::ElementType;

TEST_CASE("TfIdfVectorizer counts n-grams, in every mode and with items left out") {
  const std::vector<int64_t> x{2, 3, 5, 4, 2, 3, 3, 5, 2, 2};  // two rows
  // Two single items, then the pairs (2, 3), (3, 5), (2, 2).
  const std::vector<int64_t> pool{2, 9, 2, 3, 3, 5, 2, 2};
  const std::vector<int64_t> columns{0, 1, 5, 2, 3};  // 4 has no n-gram
  const std::vector<float> weights{2, 3, 5, 7, 11};
  for (const int64_t skips : {0, 1, 7}) {
    for (const char* mode : {"TF", "IDF", "TFIDF"}) {
      CAPTURE(skips);
      CAPTURE(mode);
      OnnxWriter writer;
      writer.input("x", {2, 5}, ElementType::i64).output("y");
      writer.node("TfIdfVectorizer", {"x"}, {"y"},
                  {attribute("mode", std::string(mode)), attribute("min_gram_length", int64_t{1}),
                   attribute("max_gram_length", int64_t{2}), attribute("max_skip_count", skips),
                   attribute("ngram_counts", std::vector<int64_t>{0, 2}),
                   attribute("ngram_indexes", columns), attribute("pool_int64s", pool),
                   attribute("weights", weights)});
      std::vector<double> expected(12, 0);
      for (size_t row = 0; row < 2; ++row) {
        const int64_t* const items = &x[row * 5];
        for (size_t g = 0; g < 5; ++g) {
          double count = 0;
          for (size_t i = 0; i < 5; ++i) {
            if (g < 2) {
              count += items[i] == pool[g] ? 1 : 0;
              continue;
            }
            for (size_t j = i + 1; j < 5 && j <= i + 1 + static_cast<size_t>(skips); ++j) {
              count += items[i] == pool[2 * g - 2] && items[j] == pool[2 * g - 1] ? 1 : 0;
            }
          }
          if (std::string(mode) == "IDF") count = std::min(count, 1.0);
          if (std::string(mode) != "TF") count *= static_cast<double>(weights[g]);
          expected[row * 6 + static_cast<size_t>(columns[g])] = count;
        }
      }
      check_close(read<float>(load(writer)->predict_now({buffer(x, {2, 5})})[0]), expected);
    }
  }
}

TEST_CASE("TfIdfVectorizer says how to do without strings") {
  OnnxWriter writer;
  writer.input("x", {3}, ElementType::i64).output("y");
  writer.node("TfIdfVectorizer", {"x"}, {"y"},
              {attribute("mode", std::string("TF")), attribute("pool_strings", std::string("a"))});
  try {
    load(writer)->predict_now({buffer(std::vector<int64_t>{1, 2, 3}, {3})});
    FAIL("it ran");
  } catch (const Error& error) {
    CHECK(error.message.find("map them to integers beforehand") != std::string::npos);
  }
}

TEST_CASE("MelWeightMatrix has a triangle per band that peaks at 1") {
  OnnxWriter writer;
  writer.input("x", {1, 257}).output("y");
  const std::vector<std::pair<const char*, int64_t>> sizes{
      {"bands", 20}, {"length", 512}, {"rate", 16000}};
  for (const auto& [name, value] : sizes) {
    writer.constant<int64_t>(name, ElementType::i64, {}, {value});
  }
  writer.constant<float>("low", ElementType::f32, {}, {100});
  writer.constant<float>("high", ElementType::f32, {}, {8000});
  writer.node("MelWeightMatrix", {"bands", "length", "rate", "low", "high"}, {"m"});
  writer.node("MatMul", {"x", "m"}, {"y"});
  const auto model = load(writer);
  std::vector<double> peaks(20, 0);
  std::vector<int64_t> places(20, -1);
  for (int64_t bin = 0; bin < 257; ++bin) {
    std::vector<float> x(257, 0);
    x[static_cast<size_t>(bin)] = 1;
    const auto row = read<float>(model->predict_now({buffer(x, {1, 257})})[0]);
    for (size_t band = 0; band < 20; ++band) {
      if (row[band] > peaks[band]) {
        peaks[band] = row[band];
        places[band] = bin;
      }
    }
  }
  for (size_t band = 0; band < 20; ++band) {
    CAPTURE(band);
    CHECK(peaks[band] == 1);
    // The center of band i is edge i + 1 of 22 equal steps of the mel scale, 0 being the lowest.
    const double low = 2595 * std::log10(1 + 100.0 / 700);
    const double high = 2595 * std::log10(1 + 8000.0 / 700);
    const double mel = low + static_cast<double>(band + 1) * (high - low) / 22;
    const double hertz = 700 * (std::pow(10, mel / 2595) - 1);
    CHECK(places[band] == static_cast<int64_t>(513 * hertz / 16000));
  }
}

}  // namespace dala::test
