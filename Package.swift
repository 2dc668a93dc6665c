// swift-tools-version: 6.0
import PackageDescription

/// Every target is built alike: Swift 6 mode (complete concurrency checking), own
/// `~Escapable` views, and warnings that must not stay.
let house: [SwiftSetting] = [
  .enableExperimentalFeature("Lifetimes"),
  .enableUpcomingFeature("ExistentialAny"),
]

extension Target {
  static func example(_ name: String) -> Target {
    .executableTarget(
      name: name, dependencies: ["CoreBluetooth"], path: "Sources/Examples/\(name)")
  }
}

let package = Package(
  name: "Atto",
  products: [
    .library(name: "ATT", targets: ["ATT"]),
    .library(name: "GATT", targets: ["GATT"]),
    .library(name: "Atto", targets: ["Atto"]),
    .library(name: "CoreBluetooth", targets: ["CoreBluetooth"]),
    .executable(name: "atto", targets: ["AttoCLI"]),
  ],
  targets: [
    // Floor 0: what Linux offers.
    .target(name: "CLinux"),
    // Floors 1 and 2: sans-IO; they import nothing.
    .target(name: "ATT", swiftSettings: house),
    .target(name: "GATT", dependencies: ["ATT"], swiftSettings: house),
    // Floor 3: carriers, the executor, virtual time.
    .target(name: "Links", dependencies: ["ATT", "CLinux"], swiftSettings: house),
    .target(name: "EventLoop", dependencies: ["CLinux"], swiftSettings: house),
    .target(name: "Simulation", dependencies: ["ATT", "GATT", "Links"], swiftSettings: house),
    // Floor 4: adapters and the virtual air.
    .target(
      name: "Radio", dependencies: ["ATT", "Links", "EventLoop", "CLinux"], swiftSettings: house),
    // Floor 5: the async API.
    .target(
      name: "Atto", dependencies: ["ATT", "GATT", "Links", "EventLoop", "Radio", "CLinux"],
      swiftSettings: house),
    // Floor 6: file formats and the command.
    .target(
      name: "Files", dependencies: ["ATT", "GATT"], exclude: ["AssignedNumbers/generate.py"],
      swiftSettings: house),
    .executableTarget(
      name: "AttoCLI", dependencies: ["Atto", "Files", "CLinux"], swiftSettings: house),

    // Floor 6: Apple's API. The one target that uses Foundation.
    .target(name: "CoreBluetooth", dependencies: ["Atto", "CLinux"], swiftSettings: house),

    // Programs as one would write them for Apple's framework.
    .example("HeartRatePeripheral"), .example("HeartRateCentral"), .example("TransferSender"),
    .example("TransferReceiver"), .example("ReconnectingLogger"),

    .testTarget(name: "ATTTests", dependencies: ["ATT"], swiftSettings: house),
    .testTarget(name: "GATTTests", dependencies: ["GATT", "Simulation"], swiftSettings: house),
    .testTarget(
      name: "EventLoopTests", dependencies: ["EventLoop", "CLinux"], swiftSettings: house),
    .testTarget(name: "LinksTests", dependencies: ["Links", "CLinux"], swiftSettings: house),
    .testTarget(name: "RadioTests", dependencies: ["Radio"], swiftSettings: house),
    .testTarget(name: "AttoTests", dependencies: ["Atto"], swiftSettings: house),
    .testTarget(
      name: "FilesTests", dependencies: ["Files", "ATT", "GATT", "Simulation"],
      swiftSettings: house),
    // Like the examples without our settings: built as apps are.
    .testTarget(name: "CoreBluetoothTests", dependencies: ["CoreBluetooth"]),
  ],
  swiftLanguageModes: [.v6]
)
