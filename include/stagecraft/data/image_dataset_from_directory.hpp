// SPDX-License-Identifier: BSD-3-Clause
// Images in folders whose names are classes, in Keras's order. Keras counterpart:
// keras.utils.image_dataset_from_directory. CMake: stagecraft::images.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/data/dataset.hpp>
#include <stagecraft/data/load_img.hpp>
#include <stagecraft/diagnostics/number_text.hpp>
#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/training/data/shuffle.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::data::detail {

/// Images, one after the other, and the numbers of their classes.
struct image_files {
  std::vector<std::string> paths;
  std::vector<int> labels;
  std::vector<std::string> class_names;
};

[[nodiscard]] inline bool is_image(std::string name) {
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (char const* const ending : {".bmp", ".gif", ".jpeg", ".jpg", ".png"})  // the endings that Keras takes
    if (name.ends_with(ending)) return true;
  return false;
}

/// The names of the folders, or of the files, in a folder, sorted. E5001.
[[nodiscard]] inline std::vector<std::string> sorted_names(std::filesystem::path const& folder, bool of_folders,
                                                           bool follow_links) {
  std::vector<std::string> names;
  std::error_code problem;
  for (std::filesystem::directory_iterator at(folder, problem), end; !problem && at != end; at.increment(problem)) {
    std::error_code none;
    bool const is_folder = at->is_directory(none) && (follow_links || !at->is_symlink(none));
    if (of_folders ? is_folder : at->is_regular_file(none)) names.push_back(at->path().filename().string());
  }
  if (problem) io::refuse("E5001", folder.string(), "expected a readable folder, found: " + problem.message());
  std::sort(names.begin(), names.end());
  return names;
}

/// Adds a folder and all folders inside it.
inline void add_folders(std::filesystem::path const& folder, bool follow_links, int depth,
                        std::vector<std::string>& to) {
  constexpr int deepest = 64;
  if (depth > deepest) io::refuse("E5104", folder.string(), "expected folders at most 64 deep");
  to.push_back(folder.string());
  for (auto const& name : sorted_names(folder, true, follow_links))
    add_folders(folder / name, follow_links, depth + 1, to);
}

/// Adds the images of a folder and of the folders inside it, folder by folder.
inline void add_images(std::filesystem::path const& folder, int label, bool follow_links, image_files& to) {
  std::vector<std::string> folders;
  add_folders(folder, follow_links, 0, folders);
  std::sort(folders.begin(), folders.end());
  for (std::filesystem::path const each : folders)
    for (auto const& name : sorted_names(each, false, follow_links))
      if (is_image(name)) {
        to.paths.push_back((each / name).string());
        to.labels.push_back(label);
      }
}

/// NumPy's `RandomState(seed).shuffle`, by which Keras divides data.
template <class Element>
void shuffle_as_numpy(std::vector<Element>& list, std::uint32_t seed) {
  std::mt19937 generator(seed);
  for (std::size_t i = list.size(); i-- > 1;) {
    auto mask = static_cast<std::uint32_t>(i);
    for (int shift = 1; shift < 32; shift *= 2) mask |= mask >> shift;
    std::uint32_t drawn = 0;
    do drawn = static_cast<std::uint32_t>(generator()) & mask;
    while (drawn > i);
    std::swap(list[i], list[drawn]);
  }
}

}  // namespace stagecraft::data::detail

namespace stagecraft::data {

/// The form of labels. `integer`: the number of the class. `categorical`: one number for each class, 1 for the image's
/// class and 0 for the others. `binary`: 0 or 1, for two classes. `none`: always 0; images need not lie in folders of
/// classes.
enum class label_mode : unsigned char { integer, categorical, binary, none };

/// The part of the images that is taken if `validation_split` divides them.
enum class subset : unsigned char { all, training, validation };

/// Options of `image_dataset_from_directory`, in the order of Keras's. Batches have the training's batch_size.
struct image_dataset_options {
  std::vector<int> labels = {};  ///< labels of the images in the order of their paths; none: inferred
  data::label_mode label_mode = label_mode::integer;  ///< form of the labels
  std::vector<std::string> class_names = {};          ///< the folders in the order of their numbers; none: sorted
  data::color_mode color_mode = color_mode::rgb;      ///< channels of the images
  std::array<int, 2> image_size{256, 256};            ///< height and width of all images
  bool shuffle = true;                                ///< false: images come in the order of their paths
  std::uint32_t seed = 1;                             ///< the order, and the images that are held back, follow from it
  float validation_split = 0;                         ///< share of the images that is held back, from 0 to 1
  data::subset subset = subset::all;                  ///< training or validation, if a part is held back
  stagecraft::interpolation interpolation = interpolation::bilinear;  ///< as in load_img
  bool follow_links = false;                                          ///< true: links to folders are followed
  bool crop_to_aspect_ratio = false;                                  ///< as keep_aspect_ratio of load_img
};

/// The images of a folder as a dataset, and the names of their classes.
struct image_dataset : dataset<std::pair<xt::xarray<float>, xt::xarray<float>>> {
  std::vector<std::string> class_names;
  std::vector<std::string> file_paths;  ///< paths in the order of the first list, before passes shuffle
};

namespace detail {

/// Images in the order of a pass.
class image_stream final : public stream<image_dataset::element_type> {
 public:
  image_stream(std::shared_ptr<image_files const> files, std::shared_ptr<image_dataset_options const> options,
               std::uint64_t pass)
      : files_(std::move(files)), options_(std::move(options)), order_(files_->paths.size()) {
    if (options_->shuffle)
      trainers::shuffle_order(order_, options_->seed, pass);
    else
      std::iota(order_.begin(), order_.end(), 0);
  }
  std::optional<image_dataset::element_type> next() override {
    if (at_ == order_.size()) return std::nullopt;
    auto const index = static_cast<std::size_t>(order_[at_++]);
    auto image = load_img(files_->paths[index], {options_->color_mode, options_->image_size, options_->interpolation,
                                                 options_->crop_to_aspect_ratio});
    return std::pair(std::move(image), label(static_cast<std::size_t>(files_->labels[index])));
  }

 private:
  [[nodiscard]] xt::xarray<float> label(std::size_t number) const {
    if (options_->label_mode == label_mode::categorical) {
      xt::xarray<float> classes = xt::zeros<float>(std::vector<std::size_t>{files_->class_names.size()});
      classes(number) = 1;
      return classes;
    }
    std::vector<std::size_t> axes;
    if (options_->label_mode == label_mode::binary) axes.push_back(1);
    auto result = xt::xarray<float>::from_shape(axes);
    *result.data() = options_->label_mode == label_mode::none ? 0.0F : static_cast<float>(number);
    return result;
  }

  std::shared_ptr<image_files const> files_;
  std::shared_ptr<image_dataset_options const> options_;
  std::vector<std::int32_t> order_;
  std::size_t at_ = 0;
};

/// The images of a folder, with the classes that the options say. E5001, E5104.
[[nodiscard]] inline image_files find_images(std::string const& directory, image_dataset_options const& options) {
  auto const refuse = [&](std::string const& what) { io::refuse("E5104", directory, what); };
  image_files files;
  if (options.label_mode == label_mode::none || !options.labels.empty()) {
    if (!options.class_names.empty()) refuse("expected class_names where labels are those of folders alone");
    add_images(directory, 0, options.follow_links, files);
  } else {
    for (auto& name : sorted_names(directory, true, true))
      if (!name.starts_with('.')) files.class_names.push_back(std::move(name));
    if (!options.class_names.empty()) {
      auto given = options.class_names;
      std::sort(given.begin(), given.end());
      if (given != files.class_names) refuse("expected class_names to be the names of its folders");
      files.class_names = options.class_names;
    }
    for (std::size_t i = 0; i < files.class_names.size(); ++i)
      add_images(std::filesystem::path(directory) / files.class_names[i], static_cast<int>(i), options.follow_links,
                 files);
  }
  if (files.paths.empty()) refuse("expected images (.png, .jpg, .jpeg) in folders of classes, found none");
  if (!options.labels.empty() && options.label_mode != label_mode::none) {
    if (options.labels.size() != files.paths.size())
      refuse("expected " + std::to_string(files.paths.size()) + " labels, as many as images, found " +
             std::to_string(options.labels.size()));
    files.labels = options.labels;
    int const largest = *std::max_element(files.labels.begin(), files.labels.end());
    if (*std::min_element(files.labels.begin(), files.labels.end()) < 0 || largest >= 1 << 24)
      refuse("expected labels from 0 on, found others");
    for (int i = 0; i <= largest; ++i) files.class_names.push_back(std::to_string(i));
  }
  if (options.label_mode == label_mode::binary && files.class_names.size() != 2)
    refuse("expected two classes for binary labels, found " + std::to_string(files.class_names.size()));
  return files;
}

/// Keeps the subset that the options ask for.
inline void take_subset(std::string const& directory, image_dataset_options const& options, image_files& files) {
  if (!(options.validation_split >= 0 && options.validation_split < 1) ||
      (options.validation_split > 0) != (options.subset != subset::all))
    io::refuse("E5104", directory,
               "expected a validation_split from 0 to 1 together with the subset training or validation");
  if (options.shuffle) {
    shuffle_as_numpy(files.paths, options.seed);
    shuffle_as_numpy(files.labels, options.seed);
  }
  if (options.subset == subset::all) return;
  // As in Python, the share is the double nearest to the decimal that was written.
  auto const part = diagnostics::decimal_of(options.validation_split);
  auto const held = static_cast<std::size_t>(part * static_cast<double>(files.paths.size()));
  auto const first = options.subset == subset::training ? 0 : files.paths.size() - held;
  auto const count = options.subset == subset::training ? files.paths.size() - held : held;
  auto const keep = [&](auto& list) {
    using difference = std::ptrdiff_t;
    list = {list.begin() + static_cast<difference>(first), list.begin() + static_cast<difference>(first + count)};
  };
  keep(files.paths);
  keep(files.labels);
  if (files.paths.empty()) io::refuse("E5104", directory, "expected images in the subset, found none");
}

}  // namespace detail

/// The images below a folder that has a folder for each class, in the order of their names:
///
///     auto train = sc::data::image_dataset_from_directory(
///         "flowers", {.image_size = {64, 64}, .validation_split = 0.2F, .subset = sc::data::subset::training});
///     model.fit(train.prefetch(), {.epochs = 3});
///
/// Elements are an image, (height, width, channels) of numbers from 0 to 255, and a label in the form that `label_mode`
/// says. Files are read when they are asked for; each pass has an order of its own. The first list and the images that
/// are held back are those of Keras with the same seed, whatever the files' dates are. Errors: file_error E5001, E5104
/// a folder that is not as the options say; E5103 an image that cannot be read, when it is asked for. Definition: Keras
/// API, utils/image_dataset. Keras's labels=None is label_mode::none, whose labels are 0.
[[nodiscard]] inline image_dataset image_dataset_from_directory(std::string const& directory,
                                                                image_dataset_options const& options = {}) {
  detail::check_image_size(directory, options.image_size, options.interpolation);
  auto files = detail::find_images(directory, options);
  detail::take_subset(directory, options, files);
  auto const kept = std::make_shared<detail::image_files const>(std::move(files));
  auto const said = std::make_shared<image_dataset_options const>(options);
  return {{static_cast<std::int64_t>(kept->paths.size()),
           [kept, said](std::uint64_t pass) { return std::make_unique<detail::image_stream>(kept, said, pass); }},
          kept->class_names,
          kept->paths};
}

}  // namespace stagecraft::data

#include <stagecraft/diagnostics/end_headers.hpp>
