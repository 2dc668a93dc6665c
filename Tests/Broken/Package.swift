// swift-tools-version: 6.0
import PackageDescription

// What Tests/Broken/run builds again and again: the machines that its patches break, and the
// witness that notices. No more than that, so that a patch is compiled and tried in seconds.
let house: [SwiftSetting] = [
  .enableExperimentalFeature("Lifetimes"),
  .enableUpcomingFeature("ExistentialAny"),
  // The patches are tried one after another: what a tried one changes is a few files.
  .unsafeFlags(["-O", "-enforce-exclusivity=checked"]),
]

let package = Package(
  name: "Broken",
  targets: [
    .target(name: "CLinux"),
    .target(name: "ATT", swiftSettings: house),
    .target(name: "GATT", dependencies: ["ATT"], swiftSettings: house),
    .target(name: "Links", dependencies: ["ATT", "CLinux"], swiftSettings: house),
    .target(name: "Simulation", dependencies: ["ATT", "GATT", "Links"], swiftSettings: house),
    .target(
      name: "Files", dependencies: ["ATT", "GATT"], exclude: ["AssignedNumbers/generate.py"],
      swiftSettings: house),
    .executableTarget(
      name: "witness", dependencies: ["Files", "Simulation", "ATT", "GATT"],
      path: "Sources/Witness", swiftSettings: house),
  ],
  swiftLanguageModes: [.v6]
)
