// swift-tools-version: 6.0
import PackageDescription

// A package of its own, so that building Atto does not build this.
let package = Package(
  name: "AttoBenchmarks",
  dependencies: [.package(name: "Atto", path: "..")],
  targets: [
    .executableTarget(
      name: "AttoBenchmarks",
      dependencies: [
        .product(name: "Atto", package: "Atto"), .product(name: "AttoATT", package: "Atto"),
        .product(name: "AttoGATT", package: "Atto"),
      ],
      swiftSettings: [.enableExperimentalFeature("Lifetimes")])
  ],
  swiftLanguageModes: [.v6]
)
