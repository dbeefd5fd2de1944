# docker build -t shoal .                              CPU
# docker build -t shoal --build-arg SETUP=--cuda .     with the CUDA plug-in and its libraries
# docker run shoal train --data /data …
# `train` is on PATH too: SageMaker starts a container by that word.
FROM debian:12-slim AS build
ARG SETUP=
WORKDIR /src
COPY . .
RUN SHOAL_CACHE= scripts/build $SETUP && cmake --install build/release --prefix /opt/shoal \
  && ln -s shoal /opt/shoal/bin/train

FROM debian:12-slim
RUN apt-get update \
  && apt-get install -y --no-install-recommends ca-certificates libjpeg62-turbo libopencv-imgcodecs406 \
    libopencv-imgproc406 libspdlog1.10 zlib1g \
  && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/shoal /opt/shoal
ENV PATH=/opt/shoal/bin:$PATH
ENTRYPOINT ["shoal"]
