// swift-tools-version: 6.0
import PackageDescription

// The package that Tests/System/Broken/run builds for each patch: the modules that the patches break,
// and the witness. It is small, so that a patch is compiled and tested in seconds.
let common: [SwiftSetting] = [
  .enableExperimentalFeature("Lifetimes"),
  .enableUpcomingFeature("ExistentialAny"),
  .unsafeFlags(["-O", "-enforce-exclusivity=checked"]),
]

let package = Package(
  name: "Broken",
  targets: [
    .target(name: "CAttoLinux", path: "Sources/System/CLinux"),
    .target(name: "AttoATT", path: "Sources/Core/ATT", swiftSettings: common),
    .target(
      name: "AttoGATT", dependencies: ["AttoATT"], path: "Sources/Core/GATT", swiftSettings: common),
    .target(
      name: "AttoLinks", dependencies: ["AttoATT", "CAttoLinux"], path: "Sources/System/Links",
      swiftSettings: common),
    .target(
      name: "AttoSimulation", dependencies: ["AttoATT", "AttoGATT", "AttoLinks"],
      path: "Tests/Support/Simulation", swiftSettings: common),
    .target(name: "AttoHCI", path: "Sources/Core/HCI", swiftSettings: common),
    .target(
      name: "AttoText", dependencies: ["AttoATT"], path: "Sources/Formats/Text",
      swiftSettings: common),
    .target(
      name: "AttoFormats", dependencies: ["AttoATT", "AttoGATT", "AttoHCI", "AttoText"],
      path: "Sources/Formats/Formats", sources: ["Layout", "Measuring", "Profile", "Transcript"],
      swiftSettings: common),
    .executableTarget(
      name: "witness", dependencies: ["AttoFormats", "AttoSimulation", "AttoATT", "AttoGATT"],
      path: "Sources/Witness", swiftSettings: common),
  ],
  swiftLanguageModes: [.v6]
)
